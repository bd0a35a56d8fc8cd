// Forms with data-passkey: the browser makes or uses a passkey, and the form sends what it says.
for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const refusal = form.querySelector("[role=alert][hidden]");
    const { publicKey } = JSON.parse(form.dataset.options);
    const isNew = form.dataset.passkey === "create";
    try {
      const credential = isNew
        ? await navigator.credentials.create({
            publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey),
          })
        : await navigator.credentials.get({
            publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
          });
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      refusal.hidden = false;
    }
  });
}
