/** Sentences about problems: they start with the source, and all come from one language. */
import type { Problem } from '../contract.ts'
import type { ProblemKind, ProblemOf, Words } from './words.ts'

/** Returns the sentence of a problem: `payments: circuit open for 40 s, 12 calls/s rejected; last error HTTP 503`. */
export function problemSentence(words: Words, problem: Problem): string {
	return `${problem.source}: ${sentenceOf(words, problem)}`
}

/** Returns one sentence per problem, or the sentence that nothing is wrong. */
export function summaryLines(words: Words, problems: readonly Problem[]): string[] {
	return problems.length === 0
		? [words.nothingWrong]
		: problems.map((problem) => problemSentence(words, problem))
}

function sentenceOf<Kind extends ProblemKind>(words: Words, problem: Problem & { kind: Kind }): string {
	// TypeScript does not see that the function and the problem belong to the same kind.
	const sentence = words.problems[problem.kind] as (problem: unknown) => string
	return sentence(problem satisfies ProblemOf<Kind> | Problem)
}

/** The name of a breaker that was created without one. The page does not load the core to read it there. */
const UNNAMED = 'circuitBreaker'

/** Returns the circuit with its key, without what repeats the source or says nothing. */
export function circuitName(circuit: {
	readonly source: string
	readonly circuit: string
	readonly key: string | null
}): string {
	const { source, circuit: name, key } = circuit
	return [name === source || name === UNNAMED ? '' : name, key ?? ''].filter((part) => part !== '').join(' ')
}
