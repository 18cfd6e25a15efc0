"""How operators are declared.

``definition`` has the decorators of operators, ``registry`` that of public functions and the tables of their
names; ``domain`` and ``undifferentiable`` say what an operator refuses, ``prices`` what its kernel costs. No
operator is here.
"""
