// An API key: what it may do, when it was used last, a new value for it, and its end.
import { Redacted } from "effect"
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import { grantText, keyById, keyList, revokeKey, rotateKey } from "../data/Keys.ts"
import type { ApiKey } from "../data/Keys.ts"
import { act, refresh } from "../data/Registry.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Failed, Loaded } from "../parts/Block.tsx"
import { Code } from "../parts/Copy.tsx"
import { Dialog, useQuestion } from "../parts/Dialog.tsx"
import type { Question } from "../parts/Dialog.tsx"
import { Facts, Page } from "../parts/Page.tsx"
import { Secret } from "../parts/Secret.tsx"
import { Age, At, Until } from "../parts/Time.tsx"
import { Tree } from "../parts/Tree.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import { Writes } from "../parts/Writes.tsx"

const text = words.keys

const revocation = ({ id, name }: ApiKey, leave: () => void): Question => ({
  title: text.revokeTitle,
  text: text.revokeText(name),
  action: text.revokeAction,
  isDangerous: true,
  typed: id,
  act: async () => {
    const outcome = await act(revokeKey(id))
    refresh(keyList)
    if (outcome.ok) leave()
    return outcome
  }
})

const Rotate = ({
  apiKey: { id, name },
  onRotated,
  onClose
}: {
  readonly apiKey: ApiKey
  readonly onRotated: (secret: string) => void
  readonly onClose: () => void
}) => {
  const [overlap, setOverlap] = useState("86400")
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const [attempt] = useState(() => crypto.randomUUID())
  const onRotate = async () => {
    if (isBusy) return
    setBusy(true)
    const outcome = await act(rotateKey(id, Number(overlap), attempt))
    setBusy(false)
    if (!outcome.ok) return setFailure(outcome.failure)
    refresh(keyList, keyById(id))
    onRotated(Redacted.value(outcome.value))
  }
  return (
    <Dialog title={text.rotateTitle} onClose={onClose}>
      <p class="text">{text.rotateText(name)}</p>
      <label class="field">
        {text.overlap}
        <select value={overlap} onChange={({ currentTarget }) => setOverlap(currentTarget.value)}>
          {Object.entries(text.overlaps).map(([seconds, label]) => (
            <option key={seconds} value={seconds}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {failure !== undefined && <Failed failure={failure} />}
      <div class="do">
        <button class="btn" type="button" autofocus onClick={onClose}>
          {words.confirm.cancel}
        </button>
        <Writes>
          <button class="btn p" type="button" aria-disabled={isBusy} onClick={onRotate}>
            {text.rotateAction}
          </button>
        </Writes>
      </div>
    </Dialog>
  )
}

const KeyActions = ({ apiKey }: { readonly apiKey: ApiKey }) => {
  const { route } = useLocation()
  const [dialog, ask] = useQuestion()
  const [isRotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const onRotated = (value: string) => {
    setRotating(false)
    setSecret(value)
  }
  return (
    <>
      <button class="btn" type="button" onClick={() => setRotating(true)}>
        {text.rotate}
      </button>
      <button class="btn d" type="button" onClick={() => ask(revocation(apiKey, () => route("/console/keys")))}>
        {text.revoke}
      </button>
      {dialog}
      {isRotating && <Rotate apiKey={apiKey} onRotated={onRotated} onClose={() => setRotating(false)} />}
      {secret !== undefined && (
        <Secret
          title={words.create.keyTitle}
          text={words.create.keyText}
          secret={secret}
          onStored={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

const Details = ({ apiKey }: { readonly apiKey: ApiKey }) => (
  <div class="pad">
    <Facts
      facts={[
        [text.id, <Code text={apiKey.id} full />],
        [text.relayers, apiKey.relayer_ids?.join(", ") ?? text.all],
        [text.limits, apiKey.transaction_limits !== undefined && <Tree value={apiKey.transaction_limits} />],
        [text.created, <At at={apiKey.created_at} />],
        [text.createdBy, apiKey.created_by],
        [text.used, apiKey.last_used_at === undefined ? text.never : <Age at={apiKey.last_used_at} />],
        [text.from, apiKey.last_used_from],
        [text.ends, apiKey.expires_at === undefined ? text.never : <Until at={apiKey.expires_at} />],
        [text.previous, apiKey.previous_expires_at !== undefined && <Until at={apiKey.previous_expires_at} />]
      ]}
    />
  </div>
)

export const KeyPage = () => {
  const { params } = useRoute()
  const session = useAtom(sessionState)
  const id = params["id"] ?? ""
  const query = useQuery(keyById(id))
  return (
    <Page
      title={query.value?.name ?? id}
      crumbs={[{ href: "/console/keys", label: text.title }]}
      actions={query.value !== undefined && may(session, "api-keys:write") && <KeyActions apiKey={query.value} />}
    >
      <Loaded query={query} rows={6}>
        {(apiKey) => (
          <div class="grid">
            <section class="card" aria-label={text.rights}>
              <h2>{text.rights}</h2>
              <ul class="pad scopes">
                {apiKey.scopes.map((scope) => (
                  <li key={scope}>
                    <code>{scope}</code> <span class="mut">{grantText(scope)}</span>
                  </li>
                ))}
              </ul>
            </section>
            <section class="card" aria-label={text.one}>
              <h2>{text.one}</h2>
              <Details apiKey={apiKey} />
            </section>
          </div>
        )}
      </Loaded>
    </Page>
  )
}
