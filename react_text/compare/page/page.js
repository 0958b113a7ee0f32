"use strict";
(() => {
  const { outputs, sentences } = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 40;
  const OUTCOMES = {
    failed: ["could not be read", (o) => o.class === "failed"],
    wrong: ["read, not solved", (o) => o.class === "wrong"],
    repaired: ["solved after repair", (o) => o.class === "repaired"],
    strict: ["solved to the letter", (o) => o.class === "strict"],
    declined: ["declined in words", (o) => o.declined === true],
    tool: ["wrong tool", (o) => o.right_tool === false],
    arguments: ["right tool, wrong arguments", (o) => o.right_tool === true && o.right_arguments === false],
  };
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const count = document.getElementById("count");
  const further = document.getElementById("further");

  // Everything a model wrote goes through textContent: nothing of it is ever markup.
  const el = (tag, className, ...children) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  };
  const repairsOf = (output) => new Set(output.steps.flatMap((step) => step.repairs));
  const faultsOf = (output) => new Set(output.steps.map((step) => step.fault).filter(Boolean));
  const textOf = (output) =>
    [
      output.question, output.answer, output.task,
      ...output.steps.flatMap((step) => [
        ...step.pieces.map((piece) => piece[0]), JSON.stringify(step.calls), ...step.observations.map((o) => o[0]),
      ].join("")),
    ].join("\n").toLowerCase();
  for (const output of outputs) {
    output.repairs = repairsOf(output);
    output.faults = faultsOf(output);
  }

  const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const choices = (values) => {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    return [...counts].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  };
  const fill = (name, entries) => {
    const select = form.elements[name];
    select.append(new Option("any", ""));
    for (const [value, n, text] of entries) select.append(new Option(`${text || value || "none"} (${n})`, value));
    select.parentElement.hidden = entries.length < 2 && !["repair", "fault", "outcome"].includes(name);
  };
  for (const name of ["model", "arm", "dialect", "variant", "category"]) fill(name, choices(outputs.map((o) => o[name])));
  fill("repair", choices(outputs.flatMap((o) => [...o.repairs])));
  fill("fault", choices(outputs.flatMap((o) => [...o.faults])));
  fill("outcome", Object.entries(OUTCOMES)
    .map(([value, [text, test]]) => [value, outputs.filter(test).length, text]).filter((entry) => entry[1]));

  const wanted = () => {
    const values = Object.fromEntries(new FormData(form));
    const words = values.search.toLowerCase().split(/\s+/).filter(Boolean);
    return outputs.filter((output) =>
      ["model", "arm", "dialect", "variant", "category"].every((name) => !values[name] || output[name] === values[name]) &&
      (!values.outcome || OUTCOMES[values.outcome][1](output)) &&
      (!values.repair || output.repairs.has(values.repair)) &&
      (!values.fault || output.faults.has(values.fault)) &&
      (!words.length || words.every((word) => (output.haystack ??= textOf(output)).includes(word))));
  };

  let found = [];
  let drawn = 0;
  const more = () => {
    for (const output of found.slice(drawn, drawn + PAGE)) list.append(card(output));
    drawn = Math.min(found.length, drawn + PAGE);
    further.hidden = drawn >= found.length;
    further.textContent = `Show ${Math.min(PAGE, found.length - drawn)} more`;
  };
  const draw = (remember = true) => {
    found = wanted();
    drawn = 0;
    list.replaceChildren();
    more();
    count.textContent = found.length === outputs.length
      ? plural(found.length, "output") : `${plural(found.length, "output")} of ${outputs.length.toLocaleString("en")}`;
    if (!found.length) list.append(el("p", "how", "No output fits all these filters."));
    if (remember) {
      const kept = [...new FormData(form)].filter((entry) => entry[1]);
      const hash = kept.length ? `#outputs?${new URLSearchParams(kept)}` : "#outputs";
      try { history.replaceState(null, "", hash); } catch { /* some viewers of local files forbid it */ }
    }
  };

  const card = (output) => {
    const meta = el("span", "meta", ...[output.model, output.arm, output.dialect, output.variant, output.category]
      .filter(Boolean).map((text) => el("span", "", text)));
    for (const fault of output.faults) meta.append(el("span", "tag failed", fault));
    for (const repair of [...output.repairs].slice(0, 6)) meta.append(el("span", "tag repaired", repair));
    meta.append(el("span", "", OUTCOMES[output.class][0]));
    const node = el("details", `output ${output.class}`,
      el("summary", "", el("span", "ask", output.question || output.task), meta));
    node.addEventListener("toggle", () => {
      if (node.open && node.children.length === 1) node.append(body(output));
    });
    return node;
  };

  const body = (output) => {
    const node = el("div", "body");
    output.steps.forEach((step, number) => node.append(stepOf(step, number + 1)));
    if (output.more_steps) node.append(el("p", "how", `${output.more_steps} more ${output.more_steps === 1 ? "reply" : "replies"} not shown.`));
    const facts = [["answer", output.answer || "none"], ["ended by", output.stop]];
    const yes = (value) => (value === true ? "yes" : value === false ? "no" : null);
    for (const [name, key] of [["right tool", "right_tool"], ["right arguments", "right_arguments"],
      ["declined in words", "declined"], ["solved", "solved"]]) {
      if (yes(output[key])) facts.push([name, yes(output[key])]);
    }
    facts.push(["cost", `${plural(output.tokens, "token")}${output.tokens_after ? ` (${output.tokens_after} after completion)` : ""}, ${output.seconds} s`]);
    if (output.modes.length) facts.push(["mode changes", output.modes.join("; ")]);
    facts.push(["task", `${output.task}, seed ${output.seed}`], ["tools offered", output.tools.join(", ")]);
    node.append(definitions(facts));
    return node;
  };
  const definitions = (entries) => {
    const node = el("dl", "read");
    for (const [name, value, className] of entries) node.append(el("dt", "", name), el("dd", className || "", value));
    return node;
  };

  const stepOf = (step, number) => {
    const how = step.fault ? "could not be read" : step.strict ? "to the letter" : "read after repair";
    const cost = [step.generated === null || step.generated === undefined ? "" : plural(step.generated, "token"), step.seconds ? `${step.seconds} s` : ""];
    const node = el("div", "step", el("h4", "", [`Reply ${number}`, `${step.mode} mode`, how, ...cost].filter(Boolean).join(" · ")));
    const raw = el("pre", "raw");
    raw.tabIndex = 0;
    const ends = new Map();
    step.pieces.forEach((piece, at) => piece[2].forEach((edit) => ends.set(edit, at)));
    step.pieces.forEach(([text, kind, edits], at) => {
      const label = kind.endsWith("-label");
      const span = el("span", `k-${label ? kind.slice(0, -6) : kind}${label ? " label" : ""}`);
      if (edits.length) {
        const mark = el("mark", "", text);
        mark.title = edits.map((edit) => `${step.edits[edit][0]}: ${sentences[step.edits[edit][0]] || ""}`).join("\n");
        span.append(mark);
        const closing = edits.filter((edit) => ends.get(edit) === at).map((edit) => edit + 1);
        if (closing.length) span.append(el("sup", "", closing.join(",")));
      } else span.append(text);
      raw.append(span);
    });
    if (!step.pieces.length) raw.append(el("i", "how", "(nothing)"));
    else if (!step.pieces.some((piece) => piece[0].trim())) raw.replaceChildren(el("i", "how", "(only blanks)"));
    node.append(raw);
    if (step.cut) node.append(el("p", "how", `${step.cut.toLocaleString("en")} more characters are not shown.`));
    if (step.edits.length) node.append(mended(step));
    if (step.fault) node.append(el("p", "fault", el("b", "", step.fault), ` ${sentences[step.fault] || ""}`));
    const read = step.calls.map((call) => ["call", `${call.name} ${JSON.stringify(call.arguments)}`]);
    for (const [content, failed] of step.observations) read.push(["observation", content, failed ? "error" : ""]);
    if (read.length) node.append(definitions(read));
    return node;
  };
  const mended = (step) => {
    const node = el("ol", "mended");
    step.edits.forEach(([name, before, after], number) => {
      const item = el("li", "", el("small", "", String(number + 1)), el("span", "", el("b", "", name), ` ${sentences[name] || ""}`));
      if (before || after) item.append(el("span", "change", before ? el("del", "", before) : "", before && after ? " → " : "", after ? el("ins", "", after) : ""));
      node.append(item);
    });
    return node;
  };

  const choose = (name, value) => {
    form.reset();
    form.elements[name].value = value;
    draw();
    const section = document.getElementById("outputs");
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-filter]");
    if (button) choose(button.dataset.filter, button.dataset.value);
  });
  form.elements.search.addEventListener("input", () => draw());
  form.addEventListener("change", (event) => event.target === form.elements.search || draw());
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(draw));
  further.addEventListener("click", () => {
    const at = list.children.length;
    more();
    list.children[at]?.querySelector("summary").focus();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "Escape" && typing) document.activeElement.blur();
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      form.elements.search.focus();
    } else if (event.key === "j" || event.key === "k") {
      const summaries = [...list.querySelectorAll(".output > summary")];
      const at = summaries.findIndex((summary) => summary.parentElement.contains(document.activeElement));
      const next = summaries[at < 0 ? 0 : at + (event.key === "j" ? 1 : -1)];
      if (next) {
        next.focus();
        next.scrollIntoView({ block: "center" });
      }
    }
  });

  document.getElementById("suite")?.addEventListener("change", (event) => {
    for (const view of document.querySelectorAll(".view")) view.hidden = view.dataset.view !== event.target.value;
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const given = location.hash.match(/^#outputs\?(.*)$/);
  if (given) {
    for (const [name, value] of new URLSearchParams(given[1])) if (form.elements[name]) form.elements[name].value = value;
    document.getElementById("outputs").scrollIntoView();
  }
  draw(false);
})();
