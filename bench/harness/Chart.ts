// Draws charts as SVG, readable on light and on dark pages.

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .axis { stroke: #8c959f; fill: none }
  .a { fill: #0969da } .b { fill: #bf8700 } .c { fill: #8250df } .d { fill: #1a7f37 } .e { fill: #cf222e } .f { fill: #6e7781 }
  .curve { stroke: #0969da; fill: none; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
`

/** Classes of `style`, in the order of the series. */
const colours = ["a", "b", "c", "d", "e", "f"]

const width = 760
const left = 220
const right = 90
const line = 22

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const text = (x: number, y: number, content: string, more = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${more}>${escape(content)}</text>`

const svg = (height: number, title: string, parts: ReadonlyArray<string>) =>
  `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${style}</style>`,
    text(0, 16, title, ' class="title"'),
    ...parts,
    "</svg>"
  ].join("\n")}\n`

export interface Bar {
  readonly label: string
  /** A value for each series. They are drawn one after the other. */
  readonly values: ReadonlyArray<number>
  /** The text to the right of the bar. */
  readonly caption: string
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

/** Width of a name in the legend. A letter is 7.5 wide on average. */
const legendWidth = (name: string) => 30 + name.length * 7.5

/** A bar chart. Each bar has a part per series. `mark` draws a vertical line at a value. */
export const bars = (
  title: string,
  series: ReadonlyArray<string>,
  all: ReadonlyArray<Bar>,
  mark?: { readonly at: number; readonly caption: string }
): string => {
  const scale = (width - left - right) / Math.max(mark?.at ?? 0, ...all.map(({ values }) => sum(values)))
  const top = 58
  const bottom = top + all.length * line
  const legend = series.map((name, index) => {
    const x = sum(series.slice(0, index).map(legendWidth))
    return `<rect class="${colours[index]}" x="${x}" y="30" width="10" height="10"/>${text(x + 14, 40, name)}`
  })
  const rows = all.map(({ label, values, caption }, row) => {
    const y = top + row * line
    const parts = values.map((value, index) => {
      const x = left + sum(values.slice(0, index)) * scale
      return `<rect class="${colours[index]}" x="${x.toFixed(1)}" y="${y}" width="${(value * scale).toFixed(1)}" height="14"/>`
    })
    const end = left + sum(values) * scale + 6
    return [text(left - 8, y + 12, label, ' text-anchor="end"'), ...parts, text(end, y + 12, caption)].join("")
  })
  if (mark === undefined) return svg(bottom, title, [...legend, ...rows])
  const x = left + mark.at * scale
  const marked = `<path class="axis" d="M${x.toFixed(1)} ${top - 8}V${bottom}"/>`
  return svg(bottom + 20, title, [
    ...legend,
    ...rows,
    marked,
    text(x, bottom + 14, mark.caption, ' text-anchor="middle"')
  ])
}

/** A curve with axes that start at zero. */
export const curve = (
  title: string,
  points: ReadonlyArray<readonly [x: number, y: number]>,
  units: readonly [x: string, y: string]
): string => {
  const [top, bottom, start] = [40, 260, 60]
  const [mostX, mostY] = [Math.max(...points.map(([x]) => x)), Math.max(...points.map(([, y]) => y)) * 1.1]
  const x = (value: number) => start + (value / mostX) * (width - start - 20)
  const y = (value: number) => bottom - (value / mostY) * (bottom - top)
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) =>
    text(start - 8, y(part * mostY) + 4, (part * mostY).toFixed(0), ' text-anchor="end"')
  )
  return svg(bottom + 40, title, [
    `<path class="axis" d="M${start} ${top}V${bottom}H${width - 20}"/>`,
    ...ticks,
    text(start - 8, top - 10, units[1], ' text-anchor="end"'),
    text(start, bottom + 20, "0"),
    text(width - 20, bottom + 20, `${mostX.toFixed(0)} ${units[0]}`, ' text-anchor="end"'),
    `<polyline class="curve" points="${points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ")}"/>`
  ])
}
