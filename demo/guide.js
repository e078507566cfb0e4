// Shows the guides, which are Markdown files of the repository, as pages: /guide.html?first-game

const PAGES = {
  concepts: "Concepts", "first-game": "Your first game", rules: "Rules", recipes: "Recipes", native: "Native clients",
  troubleshooting: "Troubleshooting", "coming-from": "Coming from others",
}

const asked = location.search.slice(1), name = /^[\w-]+$/.test(asked) ? asked : "concepts"
const escaped = s => s.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c])
const anchor = s => s.toLowerCase().replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/<[^>]*>/g, "").replace(/[^\w\- ]/g, "").replace(/ /g, "-")

/** Where a link of the repository leads on this site; "" for what is not served. */
function target(href) {
  const [path, hash = ""] = href.split("#"), end = hash && "#" + hash
  if (!path || /^https?:/.test(path)) return href
  const guide = /^(?:\.\/)?([\w-]+)\.md$/.exec(path), source = /examples\/arena\/(\w+\.go)$/.exec(path), image = /^\.\.\/(images\/[\w.-]+)$/.exec(path)
  return guide ? `/guide.html?${guide[1]}${end}` : source ? `/source/${source[1]}` : image ? `/${image[1]}` : ""
}

/** A line of text: code, links, images, bold and emphasis. */
function inline(text) {
  const kept = []
  const keep = html => `\u0001${kept.push(html) - 1}\u0001`
  return escaped(text.replace(/`([^`]+)`/g, (_, code) => keep(`<code>${escaped(code)}</code>`)))
    .replace(/!\[([^\]]*)\]\(([^)]+)\)/g, (_, alt, href) => keep(`<img src="${target(href)}" alt="${alt}">`))
    .replace(/\[([^\]]*)\]\(([^)]+)\)/g, (_, words, href) => target(href) ? `<a href="${target(href)}">${words}</a>` : `<span title="${href}">${words}</span>`)
    .replace(/\*\*([^*]+)\*\*/g, "<b>$1</b>").replace(/(^|\W)\*([^*\s][^*]*)\*/g, "$1<i>$2</i>")
    .replace(/\u0001(\d+)\u0001/g, (_, i) => kept[i]).replace(/\u0001(\d+)\u0001/g, (_, i) => kept[i])
}

/** HTML of a Markdown text, as far as the guides use it. */
function html(markdown) {
  const lines = markdown.split("\n"), out = []
  const take = (test, f) => { const found = []; while (lines.length && test(lines[0])) found.push(f(lines.shift())); return found }
  while (lines.length) {
    const line = lines[0], heading = /^(#+) (.*)/.exec(line)
    if (!line.trim() || line.startsWith("<!--")) lines.shift()
    else if (heading) {
      lines.shift()
      out.push(`<h${heading[1].length} id="${anchor(heading[2])}">${inline(heading[2])}</h${heading[1].length}>`)
    } else if (line.startsWith("```")) {
      lines.shift()
      out.push(`<pre><code>${take(l => !l.startsWith("```"), escaped).join("\n")}</code></pre>`)
      lines.shift()
    } else if (/^ {4}\S/.test(line)) out.push(`<pre><code>${take(l => /^ {4}/.test(l) || !l.trim() && /^ {4}/.test(lines[1] ?? ""), l => escaped(l.slice(4))).join("\n")}</code></pre>`)
    else if (line.startsWith("|")) {
      const rows = take(l => l.startsWith("|"), l => l.slice(1).replace(/\|\s*$/, "").split("|").map(c => inline(c.trim())))
      const row = (cells, tag) => `<tr>${cells.map(c => `<${tag}>${c}</${tag}>`).join("")}</tr>`
      out.push(`<table>${row(rows[0], "th")}${rows.slice(2).map(r => row(r, "td")).join("")}</table>`)
    } else if (/^[-*] |^\d+\. /.test(line)) {
      const tag = /^\d/.test(line) ? "ol" : "ul", items = []
      while (lines.length && /^[-*] |^\d+\. |^ +\S/.test(lines[0])) {
        const text = lines.shift()
        if (/^[-*] |^\d+\. /.test(text)) items.push(text.replace(/^[-*] |^\d+\. /, ""))
        else items[items.length - 1] += " " + text.trim()
      }
      out.push(`<${tag}>${items.map(i => `<li>${inline(i)}</li>`).join("")}</${tag}>`)
    } else if (line.startsWith(">")) out.push(`<blockquote>${inline(take(l => l.startsWith(">"), l => l.slice(1).trim()).join(" "))}</blockquote>`)
    else out.push(`<p>${inline(take(l => l.trim() && !/^(#|```|\||[-*] |\d+\. |>)/.test(l), l => l.trim()).join(" "))}</p>`)
  }
  return out.join("\n")
}

const pages = document.getElementById("pages")
for (const [page, title] of Object.entries(PAGES)) {
  const link = document.createElement("a")
  link.href = `/guide.html?${page}`
  link.textContent = title
  if (page === name) link.setAttribute("aria-current", "page")
  pages.append(link)
}
const response = await fetch(`/guide/${name}.md`)
document.getElementById("text").innerHTML = response.ok ? html(await response.text()) : "<p>There is no such page.</p>"
document.title = `Meanwhile · ${PAGES[name] ?? "guide"}`
if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()

export {} // a module
