import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withoutQuotes } from '../../../src/outbox/message/stored-error.ts'
import { stepsOf } from '../../support/counted-steps.ts'

test('replaces what the pattern replaces that it stands for, in any text', () => {
	const pattern = /(?<!\w)(["'`])(?:\\.|[^\\])*?\1(?!\w)/g
	const texts = fc.array(fc.constantFrom('"', "'", '`', '\\', 'a', '1', ' ', '-', '_', 'ä'), {
		maxLength: 24,
	})
	fc.assert(
		fc.property(texts, (parts) => {
			const text = parts.join('')
			expect(withoutQuotes(text)).toBe(text.replace(pattern, '<text>'))
		}),
		{ numRuns: 20_000 },
	)
})

test('takes linear time for quotes that have no end', () => {
	const text = `-"a-'b-\`c`.repeat(200)
	expect(stepsOf(() => withoutQuotes(text))).toBeLessThan(60 * text.length)
})
