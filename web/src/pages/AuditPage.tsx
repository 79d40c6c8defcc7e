// The audit log, the newest first: who changed what, with the difference of each change.
import { auditPage } from "../data/Audit.ts"
import type { AuditRecord } from "../data/Audit.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { Code } from "../parts/Copy.tsx"
import { ActiveFilters, TextFilter } from "../parts/Filters.tsx"
import { Diff } from "../parts/Diff.tsx"
import { Empty, List, Pager } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { At } from "../parts/Time.tsx"
import { useQuery, useSearch } from "../parts/useAtom.ts"
import { VerifyAudit } from "./audit/Verify.tsx"

const text = words.audit

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const written = (value: unknown): string => {
  if (value === undefined) return ""
  return typeof value === "string"
    ? value
    : JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part))
}

/** The fields with a name for each level, such as `policies.min_balance`. A list is one field. */
const flat = (value: unknown, prefix = ""): ReadonlyArray<readonly [name: string, value: unknown]> =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, part]) =>
        isObject(part) ? flat(part, `${prefix}${name}.`) : [[`${prefix}${name}`, part] as const]
      )
    : []

/** The fields that differ. */
const changesOf = ({ before, after }: AuditRecord) => {
  const old = Object.fromEntries(flat(before))
  const present = Object.fromEntries(flat(after))
  return [...new Set([...Object.keys(old), ...Object.keys(present)])]
    .map((name) => ({ name, before: written(old[name]), after: written(present[name]) }))
    .filter((change) => change.before !== change.after)
}

const Difference = ({ record }: { readonly record: AuditRecord }) => {
  const changes = changesOf(record)
  if (changes.length === 0) return <>–</>
  return (
    <details>
      <summary>{text.fields(changes.length)}</summary>
      <Diff changes={changes} />
    </details>
  )
}

const columns: ReadonlyArray<Column<AuditRecord>> = [
  { head: text.at, cell: ({ at }) => <At at={at} /> },
  { head: text.action, card: "title", cell: ({ action }) => <code>{action}</code> },
  { head: text.key, cell: ({ key_id }) => <bdi>{key_id}</bdi> },
  { head: text.resource, cell: ({ action, resource_id }) => <ResourceLink type={action} id={resource_id} /> },
  { head: text.from, card: "hidden", cell: ({ client_address }) => client_address ?? "–" },
  {
    head: text.request,
    card: "hidden",
    cell: ({ request_id }) => (request_id === undefined ? "–" : <Code text={request_id} />)
  },
  { head: text.change, cell: (record) => <Difference record={record} /> },
  { head: text.position, isNumber: true, card: "hidden", cell: ({ position }) => position }
]

const filters = ["action", "key_id", "resource", "resource_id", "request_id", "since", "until"]

const perPage = "100"

export const AuditPage = () => {
  const { parameters, href } = useSearch()
  const key = new URLSearchParams(parameters)
  if (!key.has("limit")) key.set("limit", perPage)
  const query = useQuery(auditPage(key.toString()))
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        <>
          <button class="btn" type="button" onClick={query.refresh}>
            {words.transactions.refresh}
          </button>
          <VerifyAudit last={query.value?.rows[0]?.position ?? 0} />
        </>
      }
    >
      <div class="flt">
        <TextFilter name="action" label={text.action} />
        <TextFilter name="key_id" label={text.key} />
        <TextFilter name="resource_id" label={text.resource} />
        <TextFilter name="request_id" label={text.request} />
      </div>
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.title} query={query} rows={10}>
        {({ rows, next }) =>
          rows.length === 0 ? (
            <Empty text={filters.some((name) => parameters.has(name)) ? text.noMatch : text.none} />
          ) : (
            <>
              <List label={text.title} columns={columns} rows={rows} keyOf={({ position }) => position} />
              <Pager
                first={parameters.has("cursor") ? href({ cursor: undefined }) : undefined}
                next={next === undefined ? undefined : href({ cursor: next })}
              />
            </>
          )
        }
      </Block>
    </Page>
  )
}
