/** The characters that a pattern reads, as a graph: which character can be read after which, and under which conditions. */
import type { Pattern } from './parse.ts'
import { compile, holds, type Instruction, isLineEnd, isWord, type Program } from './program.ts'

export interface State {
	has(character: string): boolean
	readonly edges: Edge[]
	/** True if the pattern has matched here, whatever follows, so that nothing is tried again. */
	isAccepting: boolean
}

export interface Edge {
	readonly to: State
	/** Decides whether the edge can be taken between two characters. */
	isOpen(before: string, after: string): boolean
}

type Condition = Edge['isOpen']

export interface Graph {
	readonly states: readonly State[]
	/** One character of each kind that the pattern distinguishes. */
	readonly alphabet: readonly string[]
	/** What conditions can know about the character before them: characters with the same text are equal to them. */
	contextOf(character: string): string
}

/** A search that is not anchored tries the pattern at every position: that is a loop over any character in front of it. */
export function toGraph(pattern: Pattern): Graph {
	const states: State[] = []
	const behind = new Set<State['has']>()
	const stateOf = new Map<Instruction, State>()
	const program = compile(pattern)
	visitReads(program, (instruction) => {
		const state: State = { has: instruction.has, edges: [], isAccepting: false }
		stateOf.set(instruction, state)
		states.push(state)
	})
	visitReads(program, (instruction, inside, at) => {
		const state = stateOf.get(instruction)
		if (state) follow(inside, at + 1, state, inside === program, [])
	})
	if (!pattern.flags.includes('y')) {
		const search: State = { has: () => true, edges: [], isAccepting: false }
		search.edges.push({ to: search, isOpen: () => true })
		follow(program, 0, search, false, [])
		states.push(search)
	}
	const alphabet = alphabetOf(states)
	const contexts = new Map(alphabet.map((character) => [character, contextIn(character, [...behind])]))
	const contextOf = (character: string): string => contexts.get(character) ?? ''
	return { states, alphabet, contextOf }

	/** Adds the edges to every character that can be read next. */
	function follow(
		inside: Program,
		at: number,
		from: State,
		isMain: boolean,
		conditions: readonly Condition[],
	): void {
		const instruction = inside[at]
		if (!instruction) return
		const { op } = instruction
		if (op === 'match') from.isAccepting ||= isMain && conditions.length === 0
		else if (op === 'jump') follow(inside, instruction.to, from, isMain, conditions)
		else if (op === 'try') {
			follow(inside, instruction.first, from, isMain, conditions)
			follow(inside, instruction.second, from, isMain, conditions)
		} else if (op === 'assert') {
			const { kind } = instruction
			follow(inside, at + 1, from, isMain, [...conditions, (before, after) => holds(kind, before, after)])
		} else if (op === 'look') {
			const [first] = instruction.body
			if (instruction.behind === undefined) follow(instruction.body, 0, from, false, conditions)
			else if (first?.op === 'read') behind.add(first.has)
			follow(inside, at + 1, from, isMain, [...conditions, conditionOf(instruction)])
		} else {
			const to = stateOf.get(instruction)
			if (to)
				from.edges.push({ to, isOpen: (before, after) => conditions.every((one) => one(before, after)) })
		}
	}
}

const contextIn = (character: string, behind: readonly State['has'][]): string =>
	[isWord(character), isLineEnd(character), ...behind.map((has) => has(character))].map(Number).join('')

/** A lookaround of one character is decided exactly; any other one may hold. */
function conditionOf({ body, behind, isNegative }: Instruction & { op: 'look' }): Condition {
	const [first, second] = body
	if (first?.op !== 'read' || second?.op !== 'match') return () => true
	return (before, after) => first.has(behind === undefined ? after : before) !== isNegative
}

function visitReads(
	program: Program,
	visit: (instruction: Instruction & { op: 'read' }, inside: Program, at: number) => void,
): void {
	for (const [at, instruction] of program.entries()) {
		if (instruction.op === 'read') visit(instruction, program, at)
		else if (instruction.op === 'look') visitReads(instruction.body, visit)
	}
}

const CANDIDATES: readonly string[] = [
	...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
	...['\u0301', '\u200b', '\u2028', '\u202a', '\u2066', 'я', '七', '\ud800', '\udc00', '\uffff', '🙂'],
]

/** Printable characters come first, for readable messages. */
function alphabetOf(states: readonly State[]): readonly string[] {
	const kinds = new Map<string, string>()
	for (const character of [...CANDIDATES.slice(32, 127), ...CANDIDATES]) {
		const facts = [isWord(character), isLineEnd(character), ...states.map((state) => state.has(character))]
		const kind = facts.map(Number).join('')
		if (!kinds.has(kind)) kinds.set(kind, character)
	}
	return [...kinds.values()]
}
