document.title = "muster";
