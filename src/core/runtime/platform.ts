/** What the platform of this process does with work that outlives a request. */

interface Globals {
	readonly navigator?: { readonly userAgent?: string }
	readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> }
}

/**
 * True on Cloudflare Workers, where timers and promises end with their request. `WebSocketPair` exists with
 * every compatibility date, `navigator.userAgent` does not.
 */
export const isWorkers = (): boolean =>
	'WebSocketPair' in globalThis || (globalThis as Globals).navigator?.userAgent === 'Cloudflare-Workers'

/**
 * True on AWS Lambda. Deno asks the user before a program reads a variable, and does not run on Lambda by
 * itself.
 */
export const isLambda = (): boolean =>
	!('Deno' in globalThis) && Boolean((globalThis as Globals).process?.env?.['AWS_LAMBDA_FUNCTION_NAME'])

/** False on Cloudflare Workers, and on AWS Lambda, which stops a process between requests: a query would break. */
export const hasLastingTimers = (): boolean => !isWorkers() && !isLambda()
