import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withRules } from '../../../scripts/grpc-conformance.ts'
import { SECTIONS } from './rules/sections.ts'

const page = readFileSync(new URL('../../../docs/guide/grpc-conformance.md', import.meta.url), 'utf8')

test('the guide lists all rules: if not, run node scripts/grpc-conformance.ts', () => {
	expect(withRules(page)).toBe(page)
})

test('each rule is listed once', () => {
	const rules = SECTIONS.flatMap(({ prefix, rules: ofSection }) => ofSection.map(({ rule }) => prefix + rule))
	expect(new Set(rules).size).toBe(rules.length)
})
