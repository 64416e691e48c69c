"""Functional interpolation (FIRE).

    e_ij = q_i · k_j / √d_h + f( ψ(i - j) / ψ(max(L, i)) ),   ψ(x) = log(c x + 1),   i, j = 1 … length

f is an MLP 1 → hidden → H with ReLU; c and L are trained, as their absolute values. While i ≤ L the distance decides alone;
from there on it counts in proportion to what lies before the query, so that f never sees more than 1.

Source: Li et al. 2024, equations of section 3 and the code of its appendix: c starts from 0.1, L is trained as a multiple
of 512, the divisor is raised by 1e-6; an MLP, a c and an L a layer. The paper is about decoders. In the encoder keys
also lie behind the query; with |i - j| alone a sentence and its mirror image would look alike, so they have an MLP of
their own, and ψ(|i - j|) is divided by ψ(max(L, i, j)), which for j ≤ i is the formula above and never exceeds 1 either.
Promises: relative, since i and j count from the first token of the sentence, wherever that stands; works at any length;
2 + 2 · hidden + (hidden + 1) · H parameters a layer in the encoder's ... 
"""
