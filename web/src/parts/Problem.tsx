// What is wrong with what a person has entered, in words.
import type { Problem } from "../data/FormFields.ts"
import { words } from "../words.ts"

const { problems } = words.form

const isProblem = (problem: string): problem is Problem => problem in problems

/** A problem that the console finds has words here; one that the service finds has its own. */
export const problemText = (problem: Problem | string): string => (isProblem(problem) ? problems[problem] : problem)

export const ProblemText = ({ problem, id }: { readonly problem: Problem | string; readonly id?: string }) => (
  <p class="problem" role="alert" id={id}>
    <bdi>{problemText(problem)}</bdi>
  </p>
)
