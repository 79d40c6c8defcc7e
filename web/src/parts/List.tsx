// A table of rows that becomes cards on narrow screens, and the way to its next page.
import type { ComponentChildren } from "preact"
import type { UnreadableRow } from "../data/Pages.ts"
import { words } from "../words.ts"
import { Marked } from "./Marked.tsx"
import { Tag, mark } from "./Tag.tsx"

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** Right-aligned numbers. */
  readonly isNumber?: boolean
  /** What cards show of the row: its first line, its second line, or nothing. The default is the second line. */
  readonly card?: "title" | "state" | "line" | "hidden"
}

interface Props<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string | number
  readonly isSelected?: (row: Row) => boolean
}

const classOf = <Row,>({ isNumber = false, card = "line" }: Column<Row>) => `${isNumber ? "num " : ""}c-${card}`

export const List = <Row,>({ label, columns, rows, keyOf, isSelected }: Props<Row>) => (
  <div class="tblw" tabIndex={0} role="region" aria-label={label}>
    <table class="tbl cards">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} scope="col" class={column.isNumber === true ? "num" : ""}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} aria-selected={isSelected?.(row) === true ? true : undefined}>
            {columns.map((column) => (
              <td key={column.head} class={classOf(column)} data-head={column.head}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const unreadableColumns: ReadonlyArray<Column<UnreadableRow>> = [
  { head: words.unreadable.id, card: "title", cell: ({ id }) => <bdi>{id}</bdi> },
  { head: words.unreadable.state, card: "state", cell: () => <Tag {...mark("bad", words.unreadable.unreadable)} /> },
  {
    head: words.unreadable.reason,
    cell: ({ reason }) => (
      <bdi class="wrap">
        <Marked text={reason} />
      </bdi>
    )
  }
]

/** Rows that the service cannot read, above those that it can. */
export const UnreadableRows = ({ rows }: { readonly rows: ReadonlyArray<UnreadableRow> }) =>
  rows.length === 0 ? null : (
    <List label={words.unreadable.label} columns={unreadableColumns} rows={rows} keyOf={({ id }) => id} />
  )

/** `next` and `first` are addresses, so that each page can be linked. */
export const Pager = ({ first, next }: { readonly first: string | undefined; readonly next: string | undefined }) =>
  first === undefined && next === undefined ? null : (
    <nav class="pager" aria-label={words.pages.label}>
      {first !== undefined && (
        <a class="btn" href={first}>
          {words.pages.first}
        </a>
      )}
      {next !== undefined && (
        <a class="btn" href={next}>
          {words.pages.next}
        </a>
      )}
    </nav>
  )

/** A text with a sentence about it below, which a column of its own would leave no room for. */
export const WithProblem = ({ text, problem }: { readonly text: string; readonly problem: string | undefined }) => (
  <span class="two wrap">
    <bdi>{text}</bdi>
    {problem !== undefined && (
      <small>
        <bdi>{problem}</bdi>
      </small>
    )}
  </span>
)

/** What belongs here, and how the first one is made. */
export const Empty = ({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p>{text}</p>
    {children}
  </div>
)
