"""Products of matrices and vectors, and contractions: matmul, linear, addmm, tensordot, einsum."""

from . import composed, einsum, grouped_products, linear, matmul, matmul_add, vector_products
