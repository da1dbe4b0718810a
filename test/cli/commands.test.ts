import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { yaoki } from '../../src/cli/commands.ts'
import { commandHelp, programHelp } from '../../src/cli/help.ts'
import { GLOBAL_OPTIONS, type Option } from '../../src/cli/option-tables.ts'
import { PLAIN } from '../../src/text/style.ts'

const format = { columns: 80, style: PLAIN }
const pkg = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

describe.each(yaoki.commands.map((entry) => [entry.name, entry] as const))('yaoki %s', (name, entry) => {
	test('has examples that call it, and its help starts with them', async () => {
		const loaded = await entry.load()
		const { examples } = loaded
		expect(examples.length).toBeGreaterThan(0)
		for (const [command] of examples) expect(`${command} `).toContain(`yaoki ${name} `)
		expect(commandHelp(yaoki.name, entry, loaded, format)).toMatch(/^Examples:\n/)
	})

	test('declares each option, short option and positional once, and no default for a list', async () => {
		const { options, positionals } = await entry.load()
		const all = Object.values<Option>({ ...GLOBAL_OPTIONS, ...options })
		const shorts = all.flatMap(({ short }) => (short === undefined ? [] : [short]))
		const names = [GLOBAL_OPTIONS, options, positionals].flatMap((table) => Object.keys(table))
		expect(shorts).toEqual([...new Set(shorts)])
		expect(names).toEqual([...new Set(names)])
		for (const option of all) if ('multiple' in option) expect(option).not.toHaveProperty('default')
	})

	test('has unambiguous positionals: optional ones last, and a list only at the end', async () => {
		const entries = Object.values((await entry.load()).positionals)
		expect(entries.slice(0, -1).filter(({ multiple }) => multiple)).toEqual([])
		const optional = entries.map((one) => one.optional === true)
		expect(optional).toEqual(optional.toSorted((a, b) => Number(a) - Number(b)))
	})

	test('is not also a group', () => {
		expect(yaoki.commands.filter((other) => other.name.startsWith(`${name} `))).toEqual([])
	})
})

test('command names are unique, and none is help', () => {
	const names = yaoki.commands.map(({ name }) => name)
	expect(new Set([...names, 'help']).size).toBe(names.length + 1)
})

test('the bin of the package is this program, with the version of the package', () => {
	expect(pkg.bin).toEqual({ [yaoki.name]: './dist/cli/main.js' })
	expect(yaoki.version()).toBe(pkg.version)
	const main = readFileSync(new URL('../../src/cli/main.ts', import.meta.url), 'utf8')
	expect(main.startsWith('#!/usr/bin/env node\n')).toBe(true)
})

test('the help of the program fits into 80 columns', () => {
	const lines = programHelp(yaoki, '', format).split('\n')
	expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
})
