/** Texts of errors, names and keys as they are shown: without secrets, on one line, and bounded. */
import { describeError, toMessageText } from '../../core/events/error-facts.ts'
import type { ErrorFacts } from '../../core/events/events.ts'
import type { RedactField, Redactor } from '../../telemetry/redact/redactor.ts'
import { sanitizeLine } from '../../text/sanitize.ts'

export type { RedactField }

/** The longest name or key that is shown, in characters. */
const MAX_NAME_LENGTH = 200

/** The longest message of an error that is shown, in characters. */
export const MAX_ERROR_LENGTH = 500

export class ShownTexts {
	readonly #redactor: Redactor

	constructor(redactor: Redactor) {
		this.#redactor = redactor
	}

	/** Never throws. `field` is the name that the user's `redact` receives. */
	text(text: string, field: string, maxLength: number = MAX_NAME_LENGTH): string {
		// URLs are reduced before the text is cut: a cut URL may end within its password.
		const redacted = this.#redactor.text(toMessageText(text), field)
		const cut = redacted.length > maxLength ? `${redacted.slice(0, maxLength)}...` : redacted
		return sanitizeLine(cut)
	}

	name(text: string | undefined, field: string): string | null {
		return text === undefined ? null : this.text(text, field)
	}

	/** Returns `TypeError: message`, and without the type if it says nothing. */
	error(error: unknown): string {
		return this.errorFacts(describeError(error))
	}

	errorFacts({ errorType = 'Error', errorMessage = '' }: ErrorFacts): string {
		const text = !errorMessage
			? errorType
			: errorType === 'Error' || errorType === 'string'
				? errorMessage
				: `${errorType}: ${errorMessage}`
		return this.text(text, 'errorMessage', MAX_ERROR_LENGTH)
	}
}
