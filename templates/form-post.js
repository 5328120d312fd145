// Sends the response; the same text every time, since the page's policy names its hash.
document.getElementById('form-post').submit();
