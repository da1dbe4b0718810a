/** Which requests may be sent again: every method, with every permission, after every fault. */
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { RequestOptions, ResilientFetchOptions, ResilientRequestInit } from 'yaoki/http'
import { fin, reset, type Step } from '../faults/fault-server.ts'
import { failingOnce, SENDERS, status } from './setup.ts'

/** Methods that may be sent twice. */
export const METHODS: Readonly<Record<string, boolean>> = {
	GET: true,
	HEAD: true,
	OPTIONS: true,
	QUERY: true,
	PUT: true,
	DELETE: true,
	get: true,
	put: true,
	POST: false,
	PATCH: false,
	post: false,
	patch: false,
	PURGE: false,
}

interface Permission {
	readonly headers?: () => NonNullable<ResilientRequestInit['headers']>
	readonly yaoki?: RequestOptions
	readonly options?: ResilientFetchOptions
	/** Whether the request is retried, given whether its method alone allows it. */
	readonly mayRepeat: (byMethod: boolean, method: string) => boolean
}

const always = () => true
const byMethod = (may: boolean) => may
const withPostAndPatch = (may: boolean, method: string) => may || /^(post|patch)$/i.test(method)

const PERMISSIONS: Readonly<Record<string, Permission>> = {
	'no key': { mayRepeat: byMethod },
	'a key in Headers': { headers: () => new Headers({ 'Idempotency-Key': 'mine' }), mayRepeat: always },
	'a key in an object': { headers: () => ({ 'idempotency-key': 'mine' }), mayRepeat: always },
	'a key in an object in capitals': { headers: () => ({ 'IDEMPOTENCY-KEY': 'mine' }), mayRepeat: always },
	'a key in a list': { headers: () => [['Idempotency-KEY', 'mine']], mayRepeat: always },
	'an empty key in an object': { headers: () => ({ 'Idempotency-Key': '' }), mayRepeat: byMethod },
	'other headers': { headers: () => [['x-key', 'mine']], mayRepeat: byMethod },
	'a key in a header of another name': {
		headers: () => ({ 'x-request-key': 'mine' }),
		options: { idempotencyHeader: 'X-Request-Key' },
		mayRepeat: always,
	},
	"idempotency: 'auto'": { options: { idempotency: 'auto' }, mayRepeat: withPostAndPatch },
	'yaoki.idempotencyKey': { yaoki: { idempotencyKey: 'mine' }, mayRepeat: always },
	'yaoki.idempotent: true': { yaoki: { idempotent: true }, mayRepeat: always },
	'yaoki.idempotent: false': { yaoki: { idempotent: false }, mayRepeat: () => false },
	'yaoki.idempotent: false and a key': {
		yaoki: { idempotent: false, idempotencyKey: 'mine' },
		mayRepeat: () => false,
	},
}

/** `maybe`: retried if allowed; `never`: a permanent failure. */
export const FAULTS: Readonly<Record<string, readonly [Step, 'maybe' | 'never']>> = {
	503: [status(503), 'maybe'],
	500: [status(500), 'maybe'],
	429: [status(429), 'maybe'],
	408: [status(408), 'maybe'],
	425: [status(425), 'maybe'],
	501: [status(501), 'never'],
	505: [status(505), 'never'],
	404: [status(404), 'never'],
	422: [status(422), 'never'],
	'a reset once the head was read': [reset('request-head'), 'maybe'],
	'a close once the head was read': [fin('request-head'), 'maybe'],
}

const isAllowed = (permission: Permission, method: string): boolean =>
	permission.mayRepeat(METHODS[method] === true, method)

const initOf = ({ headers, yaoki }: Permission, method: string): ResilientRequestInit => ({
	method,
	...(headers && { headers: headers() }),
	...(yaoki && { yaoki }),
})

/** The faults that matter most. The slow tests have the others. */
export const OFTEN: readonly string[] = ['503', '404', 'a reset once the head was read']

/** Describes the part of the matrix with these faults. */
export function describeRetrySafety(faults: readonly string[]): void {
	describe.each(SENDERS)('over $name', ({ setup }) => {
		describe.each(faults)('after %s', (name) => {
			const [fault, answer] = FAULTS[name] as (typeof FAULTS)[string]
			test.each(Object.entries(PERMISSIONS))(
				'a request with %s is retried as documented',
				async (_name, permission) => {
					const { fetch, server } = await setup(failingOnce(fault), permission.options)
					const methods = Object.keys(METHODS)
					const stops = await Promise.all(
						methods.map(async (method) => {
							const ended = await fetch(server.url(`/${method}`), initOf(permission, method)).catch(
								(error) => error,
							)
							return [method, explain(ended)?.stop]
						}),
					)
					const isRepeated = (method: string) => answer === 'maybe' && isAllowed(permission, method)
					const rejection = answer === 'never' ? 'permanent' : 'not-idempotent'
					expect(Object.fromEntries(stops)).toEqual(
						Object.fromEntries(methods.map((method) => [method, isRepeated(method) ? 'success' : rejection])),
					)
					const calls = (method: string) => server.requests.filter(({ path }) => path === `/${method}`)
					for (const method of methods) expect(calls(method)).toHaveLength(isRepeated(method) ? 2 : 1)
					expect(calls('patch').map((seen) => seen.method)).toContain('PATCH')
				},
			)
		})
	})
}
