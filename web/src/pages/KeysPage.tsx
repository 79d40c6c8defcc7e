// The API keys that this session may see: what each may do, when it was used last, and its end.
import { useState } from "preact/hooks"
import { keyList, revokeKey } from "../data/Keys.ts"
import type { ApiKey } from "../data/Keys.ts"
import { act, refresh } from "../data/Registry.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { Confirm } from "../parts/Dialog.tsx"
import type { Question } from "../parts/Dialog.tsx"
import { Empty, List } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { Age, Until } from "../parts/Time.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"

const text = words.keys

const columnsFor = (revoke: ((key: ApiKey) => void) | undefined): ReadonlyArray<Column<ApiKey>> => [
  {
    head: text.name,
    card: "title",
    cell: ({ id, name }) => (
      <span class="two">
        <bdi>{name}</bdi>
        <small>{id}</small>
      </span>
    )
  },
  { head: text.scopes, cell: ({ scopes }) => <code class="wrap">{scopes.join(" ")}</code> },
  { head: text.relayers, card: "hidden", cell: ({ relayer_ids }) => relayer_ids?.join(", ") ?? text.all },
  {
    head: text.used,
    isNumber: true,
    cell: ({ last_used_at }) => (last_used_at === undefined ? text.never : <Age at={last_used_at} />)
  },
  {
    head: text.ends,
    isNumber: true,
    card: "hidden",
    cell: ({ expires_at }) => (expires_at === undefined ? text.never : <Until at={expires_at} />)
  },
  { head: text.createdBy, card: "hidden", cell: ({ created_by }) => created_by ?? "–" },
  ...(revoke === undefined
    ? []
    : [
        {
          head: text.revoke,
          card: "state" as const,
          cell: (key: ApiKey) => (
            <button class="btn s d" type="button" onClick={() => revoke(key)}>
              {text.revoke}
            </button>
          )
        }
      ])
]

export const KeysPage = () => {
  const session = useAtom(sessionState)
  const query = useQuery(keyList)
  const [question, ask] = useState<Question>()
  const onRevoke = ({ id, name }: ApiKey) =>
    ask({
      title: text.revokeTitle,
      text: text.revokeText(name),
      action: text.revokeAction,
      isDangerous: true,
      typed: id,
      act: () => act(revokeKey(id)).finally(() => refresh(keyList))
    })
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
            <List
              label={text.title}
              columns={columnsFor(may(session, "api-keys:write") ? onRevoke : undefined)}
              rows={keys}
              keyOf={({ id }) => id}
            />
          )
        }
      </Block>
      {question !== undefined && <Confirm question={question} onClose={() => ask(undefined)} />}
    </Page>
  )
}
