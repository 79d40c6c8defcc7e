// The API keys that this session may see: what each may do, when it was used last, and when it ends.
import { keyList } from "../data/Keys.ts"
import type { ApiKey } from "../data/Keys.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { Empty, List } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { Age, Until } from "../parts/Time.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"

const text = words.keys

const hrefOf = (id: string) => `/console/keys/${encodeURIComponent(id)}`

const columns: ReadonlyArray<Column<ApiKey>> = [
  {
    head: text.name,
    card: "title",
    cell: ({ id, name }) => (
      <a href={hrefOf(id)} class="two">
        <bdi>{name}</bdi>
        <small>{id}</small>
      </a>
    )
  },
  { head: text.scopes, cell: ({ scopes }) => <code class="wrap">{scopes.join(" ")}</code> },
  {
    head: text.relayers,
    cell: ({ relayer_ids }) => <bdi class="wrap">{relayer_ids?.join(", ") ?? text.all}</bdi>
  },
  {
    head: text.used,
    isNumber: true,
    cell: ({ last_used_at }) => (last_used_at === undefined ? text.never : <Age at={last_used_at} />)
  },
  {
    head: text.ends,
    isNumber: true,
    cell: ({ expires_at }) => (expires_at === undefined ? text.never : <Until at={expires_at} />)
  },
  { head: text.createdBy, card: "hidden", cell: ({ created_by }) => created_by ?? "–" }
]

export const KeysPage = () => {
  const session = useAtom(sessionState)
  const query = useQuery(keyList)
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        may(session, "api-keys:write") && (
          <a class="btn p" href="/console/new/key">
            {words.create.key}
          </a>
        )
      }
    >
      <Block title={text.title} query={query} rows={5}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty text={text.none} />
          ) : (
            <List label={text.title} columns={columns} rows={keys} keyOf={({ id }) => id} />
          )
        }
      </Block>
    </Page>
  )
}
