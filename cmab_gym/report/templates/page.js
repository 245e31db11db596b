// The libraries are put in front of this script: it calls vegaEmbed.
const options = {
  renderer: "svg",
  ast: true, // no eval: the page's security policy forbids it
  actions: false,
  defaultStyle: false,
  logLevel: 1, // errors only: a chart whose agents are all hidden warns of its empty axes
  tooltip: { disableDefaultStyle: true },
};

// Read JSON that was compressed by gzip and written in base64.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// Draw a chart; return a function that shows only the given agents.
function chart(figure, shown) {
  const contents = unpacked(figure.querySelector("script").textContent);
  const drawing = figure.querySelector(".drawing");
  const buttons = [...figure.querySelectorAll(".axes button")];
  let view;
  let last = Promise.resolve(); // drawings wait for each other

  async function redraw() {
    const pressed = buttons.filter((each) => each.getAttribute("aria-pressed") === "true");
    const { specs, data } = await contents;
    const spec = specs[pressed.map((each) => each.dataset.axis).join("")];
    view?.finalize();
    view = (await vegaEmbed(drawing, { ...spec, datasets: data }, options)).view;
    await view.signal("shown", shown()).runAsync();
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      last = last.then(redraw);
    });
  }
  last = last.then(redraw);
  return () => (last = last.then(() => view.signal("shown", shown()).runAsync()));
}

for (const section of document.querySelectorAll("section.environment")) {
  const boxes = [...section.querySelectorAll(".legend input")];
  const agents = [...new Set(boxes.map((box) => Number(box.value)))];
  let shown = new Set(agents);
  const charts = [...section.querySelectorAll("figure.chart")].map((each) =>
    chart(each, () => [...shown]),
  );

  function show(chosen) {
    shown = new Set(chosen);
    for (const box of boxes) box.checked = shown.has(Number(box.value));
    for (const update of charts) update();
  }

  for (const box of boxes) {
    box.addEventListener("change", () => {
      const others = [...shown].filter((agent) => agent !== Number(box.value));
      show(box.checked ? [...others, Number(box.value)] : others);
    });
  }
  for (const button of section.querySelectorAll(".all")) {
    button.addEventListener("click", () => show(button.dataset.shown ? agents : []));
  }
}
