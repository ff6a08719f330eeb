"""Which jobs this installation controls, and the policy applied to them."""
