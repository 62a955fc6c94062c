"""What the machine offers: threads, compiled kernels and where they are kept, BLAS and LAPACK."""
