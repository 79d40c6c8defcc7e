// Sign-in: a key for a session. The key stays in the field after a mistake, and nowhere else.
import { useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import { signIn } from "../data/Session.ts"
import { words } from "../words.ts"
import { Failed } from "../parts/Block.tsx"
import { Icon } from "../parts/Icon.tsx"

const text = words.signIn

const Problem = ({ failure }: { readonly failure: Failure }) => {
  if (failure.status === 401) return <p class="problem">{text.wrong}</p>
  if (failure.status === 429) return <p class="problem">{text.wait(failure.retryAfter ?? 1)}</p>
  return <Failed failure={failure} />
}

/** Also used in a dialog over a page whose session has ended. */
export const SignInForm = ({ title }: { readonly title: string }) => {
  const [key, setKey] = useState("")
  const [isReadOnly, setReadOnly] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    if (isBusy || key.trim() === "") return
    setBusy(true)
    const outcome = await signIn(key.trim(), isReadOnly)
    setBusy(false)
    if (outcome.ok) setKey("")
    else setFailure(outcome.failure)
  }
  return (
    <form class="card" aria-labelledby="sign-in" onSubmit={onSubmit}>
      <h1 id="sign-in">{title}</h1>
      <label for="key">{text.key}</label>
      <input
        id="key"
        type="password"
        autocomplete="off"
        autofocus
        spellcheck={false}
        value={key}
        aria-describedby="key-hint key-problem"
        aria-invalid={failure?.status === 401}
        onInput={({ currentTarget }) => setKey(currentTarget.value)}
      />
      <div id="key-problem" role="alert">
        {failure !== undefined && <Problem failure={failure} />}
      </div>
      <p class="hint" id="key-hint">
        {text.hint} <code>{text.hintFile}</code> {text.hintRest}
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={isReadOnly}
          onChange={({ currentTarget }) => setReadOnly(currentTarget.checked)}
        />
        <span>
          {text.readOnly}
          <br />
          <span class="mut">{text.readOnlyHint}</span>
        </span>
      </label>
      <button class="btn p" type="submit" aria-disabled={isBusy}>
        {isBusy ? text.busy : text.button}
      </button>
    </form>
  )
}

export const SignInPage = () => (
  <main class="in">
    <div>
      <div class="brand">
        <Icon name="rel" size={20} />
        {words.product}
      </div>
      <SignInForm title={text.title} />
      <p class="hint">
        {text.endsAlways}
        <br />
        {text.stored}
      </p>
    </div>
  </main>
)
