/** Who changes something by hand, and why. By default the user of this process: no change is anonymous. */
import { hostname, userInfo } from 'node:os'
import { invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import { readText } from '../message/filter.ts'
import type { OperatorNote } from '../store/rows.ts'

/** Who changes something, and why, for the audit. */
export interface OperatorOptions {
	/** Who does it, at most 255 characters. Default: user and host of this process, for example `ada@web-1`. */
	readonly by?: string | undefined
	/** Why, at most 1,000 characters. Default: no reason. */
	readonly reason?: string | undefined
}

export const OPERATOR_SCHEMA: OptionSchema = { by: 'any', reason: 'any' }

const MAX_BY = 255
const MAX_REASON = 1_000

export function readOperator({ by, reason }: OperatorOptions): OperatorNote {
	return {
		by: readShortText('by', by, MAX_BY) ?? processUser(),
		reason: readShortText('reason', reason, MAX_REASON) ?? null,
	}
}

function readShortText(name: string, value: unknown, maxLength: number): string | undefined {
	const text = readText(name, value)
	if (text !== undefined && text.length > maxLength)
		invalidOption(name, text, `at most ${maxLength} characters`)
	return text
}

/** Returns user and host of this process. In a container, the user's id may have no name. */
export function processUser(): string {
	let user: string
	try {
		user = userInfo().username
	} catch {
		user = `uid ${process.getuid?.() ?? 'unknown'}`
	}
	return `${user}@${hostname()}`.slice(0, MAX_BY)
}
