/** Compares facts in the documentation with the code. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
	adaptiveBulkhead,
	adaptiveThrottle,
	type BackoffOptions,
	bulkhead,
	calculateDelay,
	circuitBreaker,
	classify,
	type FailureKind,
	fallback,
	hedge,
	keyed,
	presets,
	rateLimiter,
	retry,
	schedule,
	timeout,
} from 'yaoki'
import { readRetryOptions } from '../../src/core/retry/options.ts'
import { GRPC_CODES } from '../core/classify/expected.ts'
import { blocks, named, page, pages, ROOT, table, thousands, unquoted } from './markdown.ts'

describe('presets', () => {
	const guide = table(page('docs/guide/backoff.md'), 'preset', '`baseDelayMs`')

	const duration = (ms = Number.NaN): string =>
		ms < 120_000 ? `${Number((ms / 1_000).toFixed(2))} s` : `${(ms / 60_000).toFixed(1)} min`

	const rows = Object.entries(presets).map(([name, preset]) => {
		const { baseDelayMs, maxDelayMs, maxRetries, jitterStrategy, jitterFactor = '' } = preset
		const { minMs, meanMs, maxMs } = schedule(preset).total
		const settings = [baseDelayMs, maxDelayMs, maxRetries].map(thousands)
		return {
			settings: [`\`${name}\``, ...settings, `${jitterStrategy} ${jitterFactor}`.trim()],
			totals: [minMs, meanMs, maxMs].map(duration),
		}
	})

	test('match the table of the guide, with totals from schedule()', () => {
		expect(guide.map((row) => row.slice(0, 8))).toEqual(
			rows.map(({ settings, totals }) => [...settings, ...totals]),
		)
	})
})

describe('backoff', () => {
	const guide = page('docs/guide/backoff.md')

	test('every growth has the documented steps', () => {
		for (const [growth = '', , steps] of table(guide, '`growth`')) {
			const options = { growth: unquoted(growth), jitterStrategy: 'none' } as BackoffOptions
			const computed = [0, 1, 2, 3, 4].map((attempt) => thousands(calculateDelay(attempt, options)))
			expect(computed.join(' '), growth).toBe(steps)
		}
	})

	test('the defaults of growth and jitter are those of the code', () => {
		const defaults = guide.text.match(/`'[\w-]+'` \(default\)/g)?.map(unquoted)
		const { growth, jitterStrategy } = readRetryOptions({})
		expect(defaults).toEqual([growth, jitterStrategy])
	})
})

describe('classification', () => {
	/** Returns errors for the entries of a cell. */
	function errorsOf(text: string): readonly (readonly [string, unknown])[] {
		const plain = text.replace(/\(and 413[^)]*\)/, '').replace(/and other [^;]*/g, '')
		const grpc = GRPC_CODES.filter(([, name]) => new RegExp(`gRPC [A-Z_, ]*\\b${name}\\b`).test(plain))
		const sql = /SQLSTATE classes ([^;]*)/.exec(plain)?.[1] ?? ''
		const beforeSql = plain.replace(/SQLSTATE[^;]*/, '')
		return [
			...[...beforeSql.matchAll(/\b[45]\d\d\b/g)].map(
				([status]) => [status, { status: Number(status) }] as const,
			),
			...[...beforeSql.matchAll(/\b(E[A-Z_]{4,}|UND_ERR_\w+)\b/g)].map(([code]) => [code, { code }] as const),
			...[...beforeSql.matchAll(/\b(?!Type|Abort)[A-Z]\w+Error\b/g)].map(
				([name]) => [name, { name }] as const,
			),
			...grpc.map(([code, name]) => [name, { code, metadata: {} }] as const),
			...[...sql.matchAll(/\b(?:\d\w\d{3}|\d{2}\w{3})\b/g)].map(([code]) => [code, { code }] as const),
			...[...sql.matchAll(/\b\d\w\b/g)].map(([cls]) => [cls, { code: `${cls}001` }] as const),
		]
	}

	test('every entry of the table in the guide has that classification', () => {
		const rows = table(page('docs/guide/classification.md'), 'kind')
		expect(rows.map(([kind]) => kind)).toEqual(['`throttled`', '`transient`', '`permanent`', '`cancelled`'])
		for (const [kind = '', what = ''] of rows) {
			for (const [entry, error] of errorsOf(what)) {
				expect([entry, classify(error)]).toEqual([
					entry,
					{ kind: named(kind)[0] as FailureKind, isKnown: true },
				])
			}
		}
	})

	test('the guide names every status and gRPC code that the tests know', () => {
		const entries = table(page('docs/guide/classification.md'), 'kind').flatMap(([, what = '']) =>
			errorsOf(what),
		)
		const names = entries.map(([entry]) => entry)
		expect(names).toEqual(expect.arrayContaining(GRPC_CODES.map(([, name]) => name)))
		expect(names).toEqual(
			expect.arrayContaining(['429', '503', '404', 'ECONNRESET', 'ZodError', '40001', '23', '3D']),
		)
	})
})

describe('the README', () => {
	test('lists each policy with a link to its page', () => {
		const listed = table(page('README.md'), 'policy', 'use it when').map(([cell = '']) => named(cell)[0])
		const factories = { adaptiveBulkhead, adaptiveThrottle, bulkhead, circuitBreaker, fallback, hedge, keyed }
		const others = { rateLimiter, retry, timeout }
		expect(listed.sort()).toEqual(Object.keys({ ...factories, ...others }).sort())
	})
})

describe('the pages', () => {
	test('link only to files that exist', () => {
		for (const { path, text } of pages()) {
			for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
				if (target.startsWith('https://')) continue
				expect(existsSync(join(ROOT, dirname(path), target)), `${path}: ${target}`).toBe(true)
			}
		}
	})

	test('link only to headings that exist', () => {
		const slugOf = (heading: string) =>
			heading
				.toLowerCase()
				.replaceAll(/[^\w\- ]/g, '')
				.replaceAll(' ', '-')
		for (const { path, text } of pages()) {
			for (const [, target = '', anchor = ''] of text.matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)) {
				const there = page(target ? join(dirname(path), target) : path).text
				const slugs = [...there.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slugOf(heading))
				expect(slugs, `${path}: ${target}#${anchor}`).toContain(anchor)
			}
		}
	})

	test('name only npm scripts that exist', () => {
		const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
		for (const { path, text } of pages()) {
			for (const [, script = ''] of text.matchAll(/\bnpm run ([\w-]+)/g)) {
				expect(Object.keys(scripts), `${path}: npm run ${script}`).toContain(script)
			}
		}
	})

	test('list every decision', () => {
		const decisions = pages().filter(({ path }) => /^docs\/decisions\/\d/.test(path))
		const listed = table(page('docs/decisions/README.md'), 'page').map(
			([link = '']) => /\((.*)\)/.exec(link)?.[1],
		)
		expect(listed).toEqual(decisions.map(({ path }) => path.replace('docs/decisions/', '')))
	})
})

test('the decisions list exactly the installed dependencies', () => {
	const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
	const { text } = page('docs/decisions/0006-dependencies.md')
	const listed = [...text.matchAll(/^- `([^`]+)`: \S/gm)].map(([, name]) => name)
	const installed = { ...manifest.dependencies, ...manifest.devDependencies }
	expect(listed.sort()).toEqual(Object.keys(installed).sort())
	expect(manifest.dependencies).toBeUndefined()
	for (const name of Object.keys(manifest.overrides ?? {})) expect(text).toContain(`\`${name}\``)
})

test('README has at most 160 lines, starts with the install command, and has the two commands for a clone', () => {
	const readme = page('README.md')
	expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(160)
	const [install, clone] = blocks(readme).filter(({ language }) => language === 'sh')
	expect(install?.code.trim()).toBe('npm install yaoki')
	expect(clone?.code).toMatch(/^npm ci && npm start .*\nnpm ci && npm test /)
})

test('the index of the guide links every page', () => {
	const guide = pages().filter(({ path }) => path.startsWith('docs/guide/') && !path.endsWith('README.md'))
	const index = page('docs/guide/README.md').text
	for (const { path } of guide) expect(index).toContain(`(${path.replace('docs/guide/', '')})`)
})
