import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { yaoki } from '../../src/cli/commands.ts'
import { commandHelp, programHelp } from '../../src/cli/help.ts'
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
