import { describe, expect, test } from 'vitest'
import { sentHeaders } from '../../../../src/idempotency/adapters/node-http/sent-headers.ts'

describe('the headers of a response', () => {
	test('are those that were set before, in lower case, with one pair for each value', () => {
		const set = { 'Content-Type': 'text/plain', Link: ['<a>', '<b>'], 'content-length': 3, gone: undefined }
		expect(sentHeaders(set, [200])).toEqual([
			['content-type', 'text/plain'],
			['link', '<a>'],
			['link', '<b>'],
			['content-length', '3'],
		])
	})

	test.each<[string, unknown]>([
		['an object', { LINK: '<new>', etag: '"1"' }],
		[
			'pairs',
			[
				['LINK', '<new>'],
				['etag', '"1"'],
			],
		],
		['a flat list', ['LINK', '<new>', 'etag', '"1"']],
	])('of writeHead, given as %s, replace those that were set before', (_, given) => {
		const set = { link: '<old>', vary: 'accept' }
		const expected = [
			['vary', 'accept'],
			['link', '<new>'],
			['etag', '"1"'],
		]
		expect(sentHeaders(set, [200, given])).toEqual(expected)
		expect(sentHeaders(set, [200, 'OK', given])).toEqual(expected)
	})

	test('stay as they are if writeHead has no headers', () => {
		expect(sentHeaders({ vary: 'accept' }, [404, 'Not here'])).toEqual([['vary', 'accept']])
		expect(sentHeaders({}, [404, undefined, null])).toEqual([])
	})
})
