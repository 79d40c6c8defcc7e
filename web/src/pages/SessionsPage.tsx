// Who is signed in to the console. A session can be ended from here.
import type { ListedSession } from "../../../src/domain/access/Caller.ts"
import { act, refresh } from "../data/Registry.ts"
import { endSession, sessionList } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { useQuestion } from "../parts/Dialog.tsx"
import { List } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { Tag, mark } from "../parts/Tag.tsx"
import { Age, Until } from "../parts/Time.tsx"
import { useQuery } from "../parts/useAtom.ts"

const text = words.sessions

/** The key by its name, as on its page. */
const nameOf = ({ key_id, key_name }: Pick<ListedSession, "key_id" | "key_name">): string =>
  key_name ?? (key_id === "administrator" ? words.session.administrator : key_id)

const columnsFor = (end: (session: ListedSession) => void): ReadonlyArray<Column<ListedSession>> => [
  {
    head: text.key,
    card: "title",
    cell: (session) => (
      <>
        <bdi title={session.key_id}>{nameOf(session)}</bdi>{" "}
        {session.current && <Tag {...mark("info", text.current, "key")} />}
      </>
    )
  },
  { head: text.rights, cell: ({ read_only }) => (read_only ? text.readOnly : text.all) },
  { head: text.from, cell: ({ from }) => from ?? "–" },
  { head: text.browser, card: "hidden", cell: ({ browser }) => <bdi class="wrap">{browser ?? "–"}</bdi> },
  { head: text.used, isNumber: true, cell: ({ last_used_at }) => <Age at={last_used_at} /> },
  { head: text.ends, isNumber: true, card: "hidden", cell: ({ expires_at }) => <Until at={expires_at} /> },
  {
    head: text.action,
    card: "state",
    cell: (session) => (
      <button class="btn s d" type="button" onClick={() => end(session)}>
        {text.end}
      </button>
    )
  }
]

export const SessionsPage = () => {
  const query = useQuery(sessionList)
  const [dialog, ask] = useQuestion()
  const onEnd = ({ id, ...session }: ListedSession) =>
    ask({
      title: text.endTitle,
      text: text.endText(nameOf(session)),
      action: text.end,
      isDangerous: true,
      act: () => act(endSession(id)).finally(() => refresh(sessionList))
    })
  return (
    <Page title={text.title} sub={text.sub}>
      <Block title={text.title} query={query} rows={3}>
        {(sessions) => <List label={text.title} columns={columnsFor(onEnd)} rows={sessions} keyOf={({ id }) => id} />}
      </Block>
      {dialog}
    </Page>
  )
}
