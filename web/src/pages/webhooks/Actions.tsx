// What a person does with a receiver: send a test, pause it, give it another signing key.
import { useState } from "preact/hooks"
import type { Failure } from "../../data/Failure.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import type { Outcome } from "../../data/Registry.ts"
import { makeSigningKey } from "../../data/SigningKey.ts"
import { latency } from "../../data/Times.ts"
import { changeWebhook, testWebhook, webhookById, webhookList } from "../../data/Webhooks.ts"
import type { Notification, TestDelivery } from "../../data/Webhooks.ts"
import { words } from "../../words.ts"
import { Failed } from "../../parts/Block.tsx"
import { CopyButton } from "../../parts/Copy.tsx"
import { Dialog, useQuestion } from "../../parts/Dialog.tsx"
import type { Question } from "../../parts/Dialog.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Replay } from "./Replay.tsx"
import { Writes } from "../../parts/Writes.tsx"

const text = words.webhooks

/** What the receiver did with a test, which the state of the page says nothing about. */
const TestResult = ({ delivery: { outcome, status, ms, answer } }: { readonly delivery: TestDelivery }) => {
  const isAccepted = outcome === "delivered"
  return (
    <div class={isAccepted ? "say ok" : "say bad"}>
      <Icon name={isAccepted ? "ok" : "bad"} size={17} />
      <div>
        <b>{isAccepted ? text.testAccepted : text.testFailed}</b>
        <p>
          <code>{outcome}</code>
          {status !== undefined && ` · HTTP ${status}`} · {latency(ms)}
        </p>
        {answer !== undefined && answer !== "" && (
          <p>
            <bdi class="wrap">{answer}</bdi>
          </p>
        )}
      </div>
    </div>
  )
}

const Test = ({ id }: { readonly id: string }) => {
  const [result, setResult] = useState<Outcome<TestDelivery>>()
  const [isBusy, setBusy] = useState(false)
  const onClick = async () => {
    if (isBusy) return
    setBusy(true)
    const outcome = await act(testWebhook(id))
    setBusy(false)
    setResult(outcome)
  }
  return (
    <>
      <Writes>
        <button class="btn" type="button" aria-disabled={isBusy} onClick={onClick}>
          {isBusy ? text.testing : text.test}
        </button>
      </Writes>
      {result !== undefined && (
        <div role="status" class="test">
          {result.ok ? <TestResult delivery={result.value} /> : <Failed failure={result.failure} />}
        </div>
      )}
    </>
  )
}

interface Props {
  readonly id: string
  readonly details: Versioned<Notification>
}

const refreshAll = (id: string) => refresh(webhookById(id), webhookList)

const Rotate = ({ id, details: { etag }, onClose }: Props & { readonly onClose: () => void }) => {
  const [key, setKey] = useState("")
  const [isShown, show] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const isReady = !isBusy && key !== ""
  const input = {
    value: key,
    autocomplete: "off" as const,
    spellcheck: false,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => setKey(currentTarget.value)
  }
  const onRotate = async (event: Event) => {
    event.preventDefault()
    if (!isReady) return
    setBusy(true)
    const outcome = await act(changeWebhook(id, { signing_key: key }, etag)).finally(() => refreshAll(id))
    setBusy(false)
    if (outcome.ok) onClose()
    else setFailure(outcome.failure)
  }
  return (
    <Dialog title={text.rotateTitle} onClose={onClose}>
      <form onSubmit={onRotate}>
        <p class="text">{text.rotateText}</p>
        <label class="field">
          {text.signingKey}
          {isShown ? <input {...input} type="text" /> : <input {...input} type="password" />}
        </label>
        <div class="do">
          <button class="btn s" type="button" onClick={() => setKey(makeSigningKey())}>
            {text.generate}
          </button>
          <button class="btn s" type="button" aria-pressed={isShown} onClick={() => show(!isShown)}>
            {text.showKey}
          </button>
          {key !== "" && <CopyButton text={key} label={words.copy.copy} />}
        </div>
        {failure !== undefined && <Failed failure={failure} />}
        <div class="do">
          <button class="btn" type="button" onClick={onClose}>
            {words.confirm.cancel}
          </button>
          <Writes>
            <button class="btn p" type="submit" aria-disabled={!isReady}>
              {text.rotateAction}
            </button>
          </Writes>
        </div>
      </form>
    </Dialog>
  )
}

const pauseQuestion = (id: string, { value: { paused }, etag }: Versioned<Notification>): Question => ({
  title: paused ? text.resumeTitle : text.pauseTitle,
  text: paused ? text.resumeText : text.pauseText,
  action: paused ? words.relayers.resume : words.relayers.pause,
  act: () => act(changeWebhook(id, { paused: !paused }, etag)).finally(() => refreshAll(id))
})

export const WebhookActions = ({ id, details }: Props) => {
  const [dialog, ask] = useQuestion()
  const [isRotating, setRotating] = useState(false)
  return (
    <>
      <Test id={id} />
      <button class="btn" type="button" onClick={() => ask(pauseQuestion(id, details))}>
        {details.value.paused ? words.relayers.resume : words.relayers.pause}
      </button>
      <button class="btn" type="button" onClick={() => setRotating(true)}>
        {text.rotate}
      </button>
      <Replay id={id} />
      {dialog}
      {isRotating && <Rotate id={id} details={details} onClose={() => setRotating(false)} />}
    </>
  )
}
