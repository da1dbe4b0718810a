import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const PAGE = readFileSync('docs/decisions/0047-a-requests-way.md', 'utf8')

describe('the page about the way of a request', () => {
	const way = [...PAGE.matchAll(/^\| \d+ \| (\S+) \|/gm)].map(([, path]) => `src/${path}`)
	const offTheWay = [...PAGE.matchAll(/`((?:request|transport)\/[\w-]+\.ts)`/g)].map(
		([, path]) => `src/http/${path}`,
	)

	test('names at most 20 files, each of them once', () => {
		expect(way.length).toBeGreaterThan(10)
		expect(way.length).toBeLessThanOrEqual(20)
		expect(new Set(way).size).toBe(way.length)
	})

	test('names files that exist', () => {
		expect(offTheWay.length).toBeGreaterThan(5)
		expect([...way, ...offTheWay].filter((path) => !existsSync(path))).toEqual([])
	})
})
