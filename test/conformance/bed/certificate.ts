// Holds a certificate for localhost and its key, for tests only: only the suite's own server in these tests uses it, and only they trust
// it.

export const certificate = `
-----BEGIN CERTIFICATE-----
MIIBsjCCAVmgAwIBAgIUExVPoEJq2vp1P1cvjh7/ot3FklswCgYIKoZIzj0EAwIw
IzEhMB8GA1UEAwwYbG9jYWxob3N0LCBpbiB0ZXN0cyBvbmx5MCAXDTI2MTEyMTA0
NTY0M1oYDzIxMjYxMDI4MDQ1NjQzWjAjMSEwHwYDVQQDDBhsb2NhbGhvc3QsIGlu
IHRlc3RzIG9ubHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARVb22y22dXaKeZ
9bsNFnAETG8nMMnVTwO1jUZIE/5ctOC1O/qaiOI/Lg6ZaCFgKwJkjQA5tPpWh31H
xgPHPUw5o2kwZzAdBgNVHQ4EFgQU52jx7tq0vFexAr5En0Locu0BU2AwHwYDVR0j
BBgwFoAU52jx7tq0vFexAr5En0Locu0BU2AwFAYDVR0RBA0wC4IJbG9jYWxob3N0
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgbjulDso1PZAY5UED
3R3xpgi4P4W6td9qm8HOzwqdZKQCIGZ7JY5QBCpO7nttZjK68/bFGwlFAmDHL0Nt
HRYvv+H5
-----END CERTIFICATE-----
`.trim();

export const privateKey = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMB0rbyjAjz859l6r
FUG0CwlHlmCAvxivKIYuLxagIx6hRANCAARVb22y22dXaKeZ9bsNFnAETG8nMMnV
TwO1jUZIE/5ctOC1O/qaiOI/Lg6ZaCFgKwJkjQA5tPpWh31HxgPHPUw5
-----END PRIVATE KEY-----
`.trim();
