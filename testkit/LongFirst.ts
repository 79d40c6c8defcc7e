// The order of the files of `npm test`: the longest are started first, so that none of them runs alone at the end.
import * as path from "node:path"
import { BaseSequencer } from "vitest/node"
import type { TestSpecification } from "vitest/node"

/** They take longer than 20 seconds on two idle cores, most of which they wait. The longest is first. */
export const longest: ReadonlyArray<string> = [
  "test/server/TestKit.test.ts",
  "test/process/Development.test.ts",
  "test/process/SolanaInstances.test.ts",
  "test/process/StellarInstances.test.ts",
  "test/process/StellarDocument.test.ts",
  "test/process/Readme.test.ts",
  "test/process/Watch.test.ts",
  "test/process/SendingInstances.test.ts",
  "test/process/TakenLanes.test.ts",
  "test/networks/solana/requests/Attacks.test.ts",
  "test/networks/toy/Toy.test.ts",
  "test/server/lanes/Crashes.test.ts",
  "test/walks.test.ts",
  "test/server/lanes/Unusable.test.ts"
]

const places = new Map(longest.map((file, index) => [path.resolve(import.meta.dirname, "..", file), index]))

const placeOf = ({ moduleId }: TestSpecification): number => places.get(moduleId) ?? longest.length

/** In their places come the longest, then all others as Vitest sorts them: by their size, or by their duration in an earlier run. */
export class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    const projects = [...new Set(sorted.map(({ project }) => project.name))]
    const projectOf = ({ project }: TestSpecification) => projects.indexOf(project.name)
    return sorted.toSorted((one, other) => projectOf(one) - projectOf(other) || placeOf(one) - placeOf(other))
  }
}
