// A plot of exact numbers over time or blocks. uPlot draws it, and is loaded when the first plot is on the screen.
import { DateTime } from "effect"
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type uPlot from "uplot"
import { exact, grouped } from "../data/Amounts.ts"
import { iso, utc } from "../data/Times.ts"
import { words } from "../words.ts"
import { List } from "./List.tsx"
import type { Column } from "./List.tsx"

const text = words.plot

/** `point`: single marks without a line between them. `limit`: a dashed line. */
type Shape = "line" | "area" | "steps" | "bars" | "limit" | "point"

export interface Line {
  readonly label: string
  readonly shape: Shape
  /** A colour of the stylesheet. */
  readonly color: "p1" | "p2" | "p3" | "p4" | "ok"
  /** One for each position, in the smallest unit. `undefined`: there is none. */
  readonly values: ReadonlyArray<bigint | undefined>
}

interface Props {
  readonly label: string
  readonly axis: "time" | "block"
  /** Milliseconds since 1970, or heights of blocks, in ascending order. */
  readonly positions: ReadonlyArray<number>
  readonly unit: { readonly symbol: string; readonly decimals: number }
  readonly lines: ReadonlyArray<Line>
}

/** Units of plots that have no amounts: what is counted, and milliseconds that are shown as seconds. */
export const units = { count: { symbol: "", decimals: 0 }, seconds: { symbol: "s", decimals: 3 } } as const

/** The time in which 95 % were done, step by step, in milliseconds. */
export const p95Lines = (
  label: string,
  steps: ReadonlyArray<{ readonly p95_ms?: number | undefined }>
): ReadonlyArray<Line> => [
  {
    label,
    shape: "line",
    color: "p1",
    values: steps.map(({ p95_ms }) => (p95_ms === undefined ? undefined : BigInt(p95_ms)))
  }
]

/** Pixels. */
const height = 190

/** Milliseconds between a load of the library that failed, because the service cannot be reached, and the next one. */
const reloadAfter = 5_000

/** uPlot counts time in seconds. */
const millisecondsPerUnit = { time: 1_000, block: 1 } as const

const colorOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()

/** Canvases have no variables of stylesheets, so that the colour is read at each drawing. */
const paint = (name: string) => () => colorOf(name)

/** Pixels of a dash and of the gap after it. */
const dashes = [5, 4]

/** A bar takes 80 % of the width of its step, and at most 40 pixels. */
const barSizes: { readonly size: [number, number] } = { size: [0.8, 40] }

type Library = typeof uPlot

/** The library can be built without a way of drawing lines. Then the line is straight between its points. */
const drawnBy = (paths: uPlot.Series.PathBuilder | undefined) => (paths === undefined ? {} : { paths })

const seriesOf = (library: Library, { label, shape, color }: Line): uPlot.Series => {
  const stroke = paint(color)
  const noPoints = { points: { show: false } }
  const steps = drawnBy(library.paths.stepped?.({ align: 1 }))
  switch (shape) {
    case "area":
      return { label, stroke, width: 1.5, fill: () => `${colorOf(color)}33`, ...steps, ...noPoints }
    case "steps":
      return { label, stroke, width: 2, ...steps, ...noPoints }
    case "bars":
      return { label, stroke, fill: stroke, width: 0, ...drawnBy(library.paths.bars?.(barSizes)), ...noPoints }
    case "limit":
      return { label, stroke, width: 1, dash: dashes, ...noPoints }
    case "point":
      return { label, stroke, paths: () => null, points: { show: true, size: 9, fill: stroke } }
    case "line":
      // A value without neighbours is a point.
      return { label, stroke, width: 2, points: { show: true, size: 4, fill: stroke } }
  }
}

const axisOf = (more: uPlot.Axis): uPlot.Axis => ({
  stroke: paint("fg3"),
  grid: { stroke: paint("line"), width: 1 },
  ticks: { stroke: paint("line2"), width: 1 },
  font: "12px system-ui, sans-serif",
  ...more
})

const day = 86_400

/** Hours and minutes in UTC, or dates if the plot has several days. */
const times = (_plot: uPlot, splits: ReadonlyArray<number>): Array<string> => {
  const isOfDays = (splits.at(-1) ?? 0) - (splits[0] ?? 0) > 2 * day
  return splits.map((seconds) => {
    const at = iso(seconds * millisecondsPerUnit.time)
    if (!isOfDays) return at.slice(11, 16)
    return seconds % day === 0 ? at.slice(5, 10) : ""
  })
}

/** Between two labels of blocks or counts: 1, 2, 5, 10, … */
const wholeSteps = Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

const axes: Readonly<Record<Props["axis"], uPlot.Axis>> = {
  time: { values: times },
  block: { values: (_plot, heights) => heights.map((height) => grouped(height)), incrs: wholeSteps }
}

/** From zero to a little above the highest value, so that heights can be compared. */
const fromZero = (_plot: uPlot, _least: number | null, most: number | null): [number, number] => [
  0,
  most === null || most === 0 ? 1 : most * 1.08
]

const optionsOf = (library: Library, { axis, lines, unit }: Props, width: number): uPlot.Options => ({
  width,
  height,
  legend: { show: false },
  cursor: { show: false },
  tzDate: (seconds) =>
    library.tzDate(DateTime.toDateUtc(DateTime.makeUnsafe(seconds * millisecondsPerUnit.time)), "Etc/UTC"),
  scales: { x: { time: axis === "time" }, y: { range: fromZero } },
  series: [{}, ...lines.map((line) => seriesOf(library, line))],
  axes: [
    axisOf({ space: 80, ...axes[axis] }),
    axisOf({ size: 64, ...(unit.decimals === 0 ? { incrs: wholeSteps } : {}) })
  ]
})

/** Numbers of JavaScript are exact enough for pixels. The table has the exact ones. */
const dataOf = ({ axis, positions, lines, unit }: Props): uPlot.AlignedData => [
  positions.map((position) => position / millisecondsPerUnit[axis]),
  ...lines.map(({ values }) =>
    values.map((value) => (value === undefined ? null : Number(exact(value, unit.decimals))))
  )
]

/** Draws into the element until it is left. The plot follows the width of the page and its theme. */
const draw = (library: Library, element: HTMLElement, props: Props) => {
  const plot = new library(optionsOf(library, props, element.clientWidth), dataOf(props), element)
  const resized = new ResizeObserver(() => {
    if (element.clientWidth > 0 && element.clientWidth !== plot.width)
      plot.setSize({ width: element.clientWidth, height })
  })
  resized.observe(element)
  const themed = new MutationObserver(() => plot.redraw())
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] })
  return () => {
    resized.disconnect()
    themed.disconnect()
    plot.destroy()
  }
}

const Canvas = (props: Props) => {
  const element = useRef<HTMLDivElement>(null)
  const shown = useMemo(() => JSON.stringify([props.lines.map(({ label }) => label), dataOf(props)]), [props])
  useEffect(() => {
    let leave: (() => void) | undefined
    let isLeft = false
    let waiting: ReturnType<typeof setTimeout> | undefined
    const load = () =>
      void import("uplot").then(
        ({ default: library }) => {
          if (!isLeft && element.current !== null) leave = draw(library, element.current, props)
        },
        () => {
          if (!isLeft) waiting = setTimeout(load, reloadAfter)
        }
      )
    load()
    return () => {
      isLeft = true
      clearTimeout(waiting)
      leave?.()
    }
  }, [shown])
  return <div ref={element} class="canvas" role="img" aria-label={props.label} />
}

interface Row {
  readonly position: number
  readonly values: ReadonlyArray<bigint | undefined>
}

const Table = ({ label, axis, positions, unit, lines }: Props) => {
  const columns: ReadonlyArray<Column<Row>> = [
    {
      head: axis === "time" ? text.time : text.block,
      card: "title",
      cell: ({ position }) => (axis === "time" ? utc(position) : grouped(position))
    },
    ...lines.map((line, index): Column<Row> => ({
      head: unit.symbol === "" ? line.label : `${line.label}, ${unit.symbol}`,
      isNumber: true,
      cell: ({ values }) => {
        const value = values[index]
        return value === undefined ? "–" : exact(value, unit.decimals)
      }
    }))
  ]
  const rows = positions.map((position, index) => ({ position, values: lines.map(({ values }) => values[index]) }))
  return <List label={label} columns={columns} rows={rows} keyOf={({ position }) => position} />
}

export const Plot = (props: Props) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <figure class="plot">
      <figcaption class="lg">
        {props.lines.map(({ label, color }) => (
          <span key={label}>
            <i class={color} />
            {label}
          </span>
        ))}
        {props.unit.symbol !== "" && <span class="mut">{props.unit.symbol}</span>}
      </figcaption>
      <Canvas {...props} />
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{text.table}</summary>
        {isOpen && <Table {...props} />}
      </details>
    </figure>
  )
}
