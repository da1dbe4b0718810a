import { reduceUrls } from '../../core/events/error-facts.ts'
import type { ProblemReports } from '../observe/report.ts'

/**
 * Returns what is written of a text: the option `redact` of `logger`, `openTelemetry` and `eventLog`. It gets
 * texts whose URLs, passwords and tokens are hidden already. `field` is the name of the field of the event or
 * of the attribute of the span. If it throws, or returns no string, `[redaction failed]` is written.
 */
export type RedactField = (text: string, field: string) => string

const FAILED = '[redaction failed]'

/** Deeper values of an event are left out: no event of the package has them. */
const MAX_DEPTH = 4

/** Hides secrets in what one exporter writes. */
export class Redactor {
	readonly #redact: RedactField | undefined
	readonly #reports: ProblemReports

	constructor(redact: RedactField | undefined, reports: ProblemReports) {
		this.#redact = redact
		this.#reports = reports
	}

	/** Never throws. */
	text(text: string, field: string): string {
		const hidden = redactText(text)
		const redact = this.#redact
		if (!redact) return hidden
		try {
			const result: unknown = redact(hidden, field)
			if (typeof result === 'string') return result
			throw new TypeError(`redact returned ${typeof result} for the field ${field}`)
		} catch (error) {
			this.#reports.report('redact', `redact failed, the field is written as ${FAILED}`, error)
			return FAILED
		}
	}

	/** Returns a copy of the fields with redacted texts, also in arrays and objects. */
	fields<Fields extends object>(fields: Fields): Fields {
		return this.#copy(fields, 0) as Fields
	}

	#copy(fields: object, depth: number): Record<string, unknown> {
		const copy: Record<string, unknown> = {}
		for (const [name, value] of Object.entries(fields)) copy[name] = this.#value(value, name, depth)
		return copy
	}

	#value(value: unknown, field: string, depth: number): unknown {
		if (typeof value === 'string') return this.text(value, field)
		if (typeof value !== 'object' || value === null) return value
		if (depth === MAX_DEPTH) return undefined
		if (Array.isArray(value)) return value.map((item) => this.#value(item, field, depth + 1))
		return this.#copy(value, depth + 1)
	}
}

/**
 * Removes secrets from the texts of errors. Logs, event logs and spans use this one function, so that none of
 * them shows what another hides. It knows forms that are common in messages: URLs, authorization headers, and
 * pairs such as `password=...`. It may remove more than the secret.
 */
const HIDDEN = '***'

/** No form of a secret lacks all of these. Most texts are short names, and need only this check. */
const MAY_HAVE_SECRET = /[:=]|bearer\s/i

const AUTHORIZATION = /(authorization["']?\s*[:=]\s*["']?)[^"',;\r\n]+/gi
const BEARER = /(\bbearer\s+)[^\s"',;]+/gi
/** A quoted value ends at its quote, any other at white space. A quote that is missing hides the rest. */
const PASSWORD =
	/((?:password|passwd|passphrase|secret|api[_-]?key)["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\S+)/gi
/** `token:` without quotes is what a parser says before the character that it did not expect. */
const TOKEN = /(token(?:["']\s*[:=]|\s*=)\s*)(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\S+)/gi

/** Returns the text without the secrets of its URLs, authorization headers, passwords, keys and tokens. */
export function redactText(text: string): string {
	if (!MAY_HAVE_SECRET.test(text)) return text
	let rest = reduceUrls(text)
	for (const secret of [AUTHORIZATION, BEARER, PASSWORD, TOKEN]) rest = rest.replace(secret, `$1${HIDDEN}`)
	return rest
}
