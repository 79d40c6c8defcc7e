// Changes some fields of an object: the form, what changes, and both versions if somebody else has changed the object meanwhile.
import { useState } from "preact/hooks"
import type { Unit } from "../data/Amounts.ts"
import { problemsOf } from "../data/Failure.ts"
import type { Failure } from "../data/Failure.ts"
import { changesOf, patchOf } from "../data/FormFields.ts"
import type { Entered, Form, Json, Problems } from "../data/FormFields.ts"
import type { Scope } from "../../../src/domain/access/ApiKey.ts"
import type { Outcome } from "../data/Registry.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Failed } from "./Block.tsx"
import { Diff } from "./Diff.tsx"
import { SchemaForm } from "./Form.tsx"
import { MissingScope } from "./NoScope.tsx"
import { useAtom } from "./useAtom.ts"
import { Writes } from "./Writes.tsx"

const text = words.form

/** What the object was when the person began, and the version of it. */
interface Start {
  readonly entered: Entered
  readonly etag: string | undefined
}

interface Props {
  readonly form: Form
  readonly native: Unit
  /** The present object. It may be newer than what the person began with. */
  readonly present: Start
  /** What a change needs. */
  readonly scope: Scope
  /** Sends the merge patch. `etag` is of the version that the person has seen. */
  readonly save: (patch: Json, etag: string | undefined) => Promise<Outcome<unknown>>
  /** Asks for the object again. */
  readonly refresh: () => void
  readonly known?: Readonly<Record<string, ReadonlyArray<string>>>
}

const preconditionFailed = 412

/** The problems of a 400, by field. `prefix` is where the form's fields are in the body. */
export const refusedFields = (failure: Failure, prefix = ""): Problems =>
  Object.fromEntries(
    problemsOf(failure.text).map(({ field, problem }) => [
      field.startsWith(prefix) ? field.slice(prefix.length) : field,
      problem
    ])
  )

const Conflict = ({
  theirs,
  mine,
  again
}: {
  readonly theirs: Parameters<typeof Diff>[0]["changes"]
  readonly mine: Parameters<typeof Diff>[0]["changes"]
  readonly again: () => void
}) => (
  <div class="conflict" role="alert">
    <b>{text.conflict}</b>
    <div class="grid g11">
      <div>
        <p>{text.theirs}</p>
        <Diff changes={theirs} />
      </div>
      <div>
        <p>{text.mine}</p>
        <Diff changes={mine} />
      </div>
    </div>
    <button class="btn" type="button" onClick={again}>
      {text.applyAgain}
    </button>
  </div>
)

export const Patch = ({ form, native, present, scope, save, refresh, known }: Props) => {
  const [start, setStart] = useState(present)
  const [entered, setEntered] = useState(present.entered)
  const [problems, setProblems] = useState<Problems>({})
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  const isAllowed = may(useAtom(sessionState), scope)
  const mine = changesOf(form, start.entered, entered, native)
  const isConflict = failure?.status === preconditionFailed

  const begin = (from: Start, with_: Entered) => {
    setStart(from)
    setEntered(with_)
    setFailure(undefined)
    setProblems({})
  }
  // The object has changed and nothing is entered: the form follows it.
  if (present.etag !== start.etag && mine.length === 0) begin(present, present.entered)

  const onSave = async (event: Event) => {
    event.preventDefault()
    const made = patchOf(form, start.entered, entered, native)
    setProblems(made.problems)
    if (isBusy || !isAllowed || Object.keys(made.problems).length > 0) return
    setBusy(true)
    const outcome = await save(made.json, start.etag)
    setBusy(false)
    if (outcome.ok) begin({ ...start, entered }, entered)
    else {
      setFailure(outcome.failure)
      if (outcome.failure.status === 400) setProblems(refusedFields(outcome.failure))
    }
    refresh()
  }
  const again = () =>
    begin(present, { ...present.entered, ...Object.fromEntries(mine.map(({ name, after }) => [name, after])) })

  return (
    <form class="pad" onSubmit={onSave}>
      {!isAllowed && <MissingScope scope={scope} />}
      <SchemaForm
        form={form}
        native={native}
        entered={entered}
        problems={problems}
        onChange={setEntered}
        {...(known === undefined ? {} : { known })}
      />
      {isConflict && (
        <Conflict theirs={changesOf(form, start.entered, present.entered, native)} mine={mine} again={again} />
      )}
      {failure !== undefined && !isConflict && Object.keys(problems).length === 0 && <Failed failure={failure} />}
      {mine.length > 0 && !isConflict && (
        <section class="review" aria-label={text.review}>
          <h3>{text.review}</h3>
          <Diff changes={mine} />
        </section>
      )}
      <div class="do">
        <Writes>
          <button class="btn p" type="submit" aria-disabled={!isAllowed || isBusy || mine.length === 0 || isConflict}>
            {isBusy ? text.saving : text.save}
          </button>
        </Writes>
        <button
          class="btn"
          type="button"
          aria-disabled={mine.length === 0}
          onClick={() => begin(present, present.entered)}
        >
          {text.discard}
        </button>
      </div>
    </form>
  )
}
