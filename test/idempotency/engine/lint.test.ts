import { describe, expect, test } from 'vitest'
import { lint } from 'yaoki'
import { type IdempotencyOptions, idempotency, memoryIdempotencyStore } from 'yaoki/idempotency'

const findingsOf = (options: Partial<IdempotencyOptions>) =>
	lint(idempotency({ store: memoryIdempotencyStore(), principal: () => 'anonymous', ...options })).findings

type Raw = Parameters<IdempotencyOptions['principal']>[0]['raw']

describe('lint of an engine', () => {
	test('finds nothing with the default options', () => {
		expect(findingsOf({})).toEqual([])
	})

	test.each<[string, (raw: never) => unknown]>([
		['a Request', (raw: Request) => raw.headers.get('X-User-Id')],
		['a request of Node', (raw: { headers: Record<string, string> }) => raw.headers['x-user-id']],
		[
			'a request of Node, all values',
			(raw: { headersDistinct: Record<string, string[]> }) => raw.headersDistinct['x-user-id']?.[0],
		],
		['a request of Express', (raw: { get(name: string): string }) => raw.get('X-User-Id')],
		['a Hono context', (raw: { req: { header(name: string): string } }) => raw.req.header('x-user-id')],
	])('warns if principal reads a header that any client can set, of %s', (_, read) => {
		const [found, ...others] = findingsOf({ principal: ({ raw }) => read(raw as never) as string })
		expect(others).toEqual([])
		expect(found).toMatchObject({ code: 'principal-from-header', name: 'idempotency' })
		expect(found?.message).toContain('"x-user-id"')
	})

	test.each<[string, (raw: Raw) => string | undefined]>([
		['reads credentials', (raw) => (raw as Request).headers.get('authorization') ?? undefined],
		['reads what authentication stored', (raw) => (raw as { user?: { id: string } }).user?.id],
		['throws', (raw) => (raw as { session: { userId: string } }).session.userId],
		['rejects', (async () => Promise.reject(new Error('no session'))) as never],
	])('finds nothing if principal %s', (_, read) => {
		expect(findingsOf({ principal: ({ raw }) => read(raw) })).toEqual([])
	})

	test('warns if principal reads such a header from headers, and not for a credential', () => {
		const reading = (name: string) => findingsOf({ principal: ({ headers }) => headers.get(name) })
		expect(reading('X-User-Id')).toMatchObject([{ code: 'principal-from-header' }])
		expect(reading('X-User-Id')[0]?.message).toContain('"x-user-id"')
		expect(reading('Authorization')).toEqual([])
	})

	test('warns if one slow heartbeat loses the lease', () => {
		const [found] = findingsOf({ leaseMs: 6_000, storeTimeoutMs: 2_000 })
		expect(found).toMatchObject({ code: 'lease-too-short', fix: 'Set leaseMs above 6000.' })
		expect(findingsOf({ leaseMs: 6_001, storeTimeoutMs: 2_000 })).toEqual([])
	})
})
