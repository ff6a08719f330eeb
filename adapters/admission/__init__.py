"""Admission webhooks: answers AdmissionReviews over TLS, with a certificate that is renewed."""
