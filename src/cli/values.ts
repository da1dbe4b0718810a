/**
 * From what was typed to one value. A number is a number as people write it: the empty text, `0x10` and `Infinity`, which
 * JavaScript would take, are refused, since in a shell they come from a variable that is not set or from a mistake.
 */
import { InvalidOptionError } from '../core/errors/errors.ts'
import { didYouMean, nearest } from './nearest.ts'
import type { NumberOption, TextOption } from './options.ts'

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** The value of an option, or an error that names it, what it got and what it takes. */
export function readValue(flag: string, option: TextOption | NumberOption, text: string): string | number {
	if (option.type !== 'string') {
		const value = DECIMAL.test(text) ? Number(text) : Number.NaN
		if (fits(value, option)) return value
		throw new InvalidOptionError(flag, text, takes(option))
	}
	const { choices } = option
	if (!choices || choices.includes(text)) return text
	throw new InvalidOptionError(flag, text, `${takes(option)}${didYouMean(nearest(text, choices))}`)
}

function fits(value: number, { type, least = -Infinity, most = Infinity }: NumberOption): boolean {
	const isOfType = type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
	return isOfType && value >= least && value <= most
}

/** What an option takes, for messages and for help: `a whole number, 1 or more`. */
export function takes(option: TextOption | NumberOption): string {
	if (option.type === 'string') return option.choices ? `one of ${option.choices.join(', ')}` : option.value
	const { type, least, most } = option
	const kind = type === 'integer' ? 'a whole number' : 'a number'
	if (least !== undefined && most !== undefined) return `${kind} from ${least} to ${most}`
	if (least !== undefined) return `${kind}, ${least} or more`
	return most === undefined ? kind : `${kind}, ${most} or less`
}

export const looksLikeOption = (text: string): boolean =>
	text.startsWith('-') && text.length > 1 && !DECIMAL.test(text)
