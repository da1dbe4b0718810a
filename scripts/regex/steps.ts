/**
 * Counts the steps that a backtracking engine takes for a pattern and a text. An engine may skip some of them, but none that this file does
 * not count, so a bound on these steps bounds the engine too, on every machine.
 */
import type { Pattern } from './parse.ts'
import { compile, holds, type Program } from './program.ts'

interface Run {
	readonly isMatch: boolean
	readonly steps: number
}

const programs = new Map<string, Program>()

/** Compiles each pattern once. */
function programOf(pattern: Pattern): Program {
	const key = `/${pattern.source}/${pattern.flags}`
	const program = programs.get(key) ?? compile(pattern)
	programs.set(key, program)
	return program
}

/** Runs a pattern as `exec` does, from `lastIndex` if the flags contain g or y. */
export function countSteps(pattern: Pattern, text: string, lastIndex = 0): Run {
	const program = programOf(pattern)
	const isUnicode = pattern.flags.includes('u')
	const from = /[gy]/.test(pattern.flags) ? lastIndex : 0
	const until = pattern.flags.includes('y') ? from : text.length
	let steps = 0
	for (let start = from; start <= until; start++) {
		const run = runAt(program, text, start, isUnicode)
		steps += run.steps
		if (run.isMatch) return { isMatch: true, steps }
	}
	return { isMatch: false, steps }
}

function runAt(program: Program, text: string, start: number, isUnicode: boolean): Run {
	const alternatives: [at: number, position: number][] = [[0, start]]
	let steps = 0
	for (let next = alternatives.pop(); next; next = alternatives.pop()) {
		let [at, position] = next
		for (;;) {
			steps++
			const instruction = program[at]
			if (!instruction || instruction.op === 'match') return { isMatch: true, steps }
			if (instruction.op === 'jump') at = instruction.to
			else if (instruction.op === 'try') {
				alternatives.push([instruction.second, position])
				at = instruction.first
			} else if (instruction.op === 'assert') {
				if (!holds(instruction.kind, text[position - 1], text[position])) break
				at++
			} else if (instruction.op === 'look') {
				const { body, behind, isNegative } = instruction
				const from = behind === undefined ? position : position - behind
				const run = from < 0 ? { isMatch: false, steps: 0 } : runAt(body, text, from, isUnicode)
				steps += run.steps
				if (run.isMatch === isNegative) break
				at++
			} else {
				const unit = text[position]
				if (unit === undefined) break
				const read = isUnicode ? String.fromCodePoint(text.codePointAt(position) ?? 0) : unit
				if (!instruction.has(read)) break
				position += read.length
				at++
			}
		}
	}
	return { isMatch: false, steps }
}
