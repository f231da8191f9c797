// Buttons with data-copy put the text of the element with that id on the clipboard.

for (const button of document.querySelectorAll("[data-copy]")) {
  const text = button.textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => { button.textContent = text; }, 2000);
  });
}
