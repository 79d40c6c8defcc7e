// The hits of a search. One hit leads to its page; none says what the text was read as.
import { useLocation } from "preact-iso"
import { useEffect } from "preact/hooks"
import { longestSearch, maxFound } from "../../../src/domain/search/Search.ts"
import { found, hitHref } from "../data/Search.ts"
import type { FoundItem } from "../data/Search.ts"
import { formsOf, isCaseSensitive, wantedOf } from "../data/SearchText.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { Empty, List } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { markOf } from "../parts/States.ts"
import { Tag } from "../parts/Tag.tsx"
import { useQuery, useSearch } from "../parts/useAtom.ts"

const text = words.search

const columns: ReadonlyArray<Column<FoundItem>> = [
  {
    head: text.name,
    card: "title",
    cell: (hit) => (
      <a href={hitHref(hit)}>
        <bdi class="wrap">{hit.label}</bdi>
      </a>
    )
  },
  { head: text.kind, cell: ({ kind }) => text.kinds[kind] },
  { head: text.state, card: "state", cell: ({ state }) => (state === undefined ? "" : <Tag {...markOf(state)} />) },
  { head: text.relayer, card: "hidden", cell: ({ relayer_id }) => relayer_id ?? "–" },
  { head: text.id, card: "hidden", cell: ({ id }) => <code>{id}</code> }
]

const Nothing = ({ wanted }: { readonly wanted: string }) => (
  <Empty text={text.none}>
    <p>{text.tried}</p>
    <ul>
      {formsOf(wanted).map((form) => (
        <li key={form}>{text.forms[form]}</li>
      ))}
    </ul>
    {isCaseSensitive(wanted) && <p>{text.base58}</p>}
    <p class="mut">{text.limits}</p>
  </Empty>
)

const Hits = ({ hits, wanted }: { readonly hits: ReadonlyArray<FoundItem>; readonly wanted: string }) => {
  if (hits.length === 0) return <Nothing wanted={wanted} />
  return (
    <>
      <List label={text.title} columns={columns} rows={hits} keyOf={({ kind, id }) => `${kind} ${id}`} />
      {hits.length === maxFound && <p class="pad mut">{text.many(maxFound)}</p>}
    </>
  )
}

const Results = ({ wanted, isCut }: { readonly wanted: string; readonly isCut: boolean }) => {
  const { route } = useLocation()
  const query = useQuery(found(wanted))
  const [first, second] = query.value ?? []
  // A cut text was not searched for as a whole, so that its only hit may be another one than the person means.
  const only = first !== undefined && second === undefined && !isCut ? hitHref(first) : undefined
  useEffect(() => {
    if (only !== undefined) route(only, true)
  }, [only])
  return (
    <>
      {isCut && (
        <p class="read-only" role="status">
          {text.cut(longestSearch)}
        </p>
      )}
      <Block title={text.title} query={query} rows={4}>
        {(hits) => <Hits hits={hits} wanted={wanted} />}
      </Block>
    </>
  )
}

export const SearchPage = () => {
  const { parameters } = useSearch()
  const { text: wanted, isCut } = wantedOf(parameters.get("q") ?? "")
  return (
    <Page title={text.title} sub={wanted === "" ? undefined : <bdi class="wrap">{text.of(wanted)}</bdi>}>
      {wanted === "" ? <Empty text={text.what} /> : <Results key={wanted} wanted={wanted} isCut={isCut} />}
    </Page>
  )
}
