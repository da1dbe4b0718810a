import type { CallExtension } from '../../core/engine/call-extension.ts'

/** The HTTP request of a call, as an observer sees it when an attempt is about to start. */
export interface HttpAttempt extends CallExtension {
	readonly method: string
	/** The complete URL, which may contain secrets. */
	readonly url: string
	/** Returns true if the user has set this header, in lower case. */
	hasHeader(name: string): boolean
	/** Adds headers to the attempt that is about to start. */
	addHeaders(headers: Readonly<Record<string, string>>): void
}

/** Returns true for an HTTP request. Not by `instanceof`: there may be two copies of the package. */
export const isHttpAttempt = (extension: CallExtension | undefined): extension is HttpAttempt =>
	extension !== undefined && 'addHeaders' in extension
