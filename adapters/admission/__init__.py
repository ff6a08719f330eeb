"""Admission webhooks: AdmissionReviews answered, over TLS with a certificate that is renewed."""
