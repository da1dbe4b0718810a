/** The sentences about problems, in both languages. */
import { describe, expect, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import { en } from '../../../src/dashboard/words/en.ts'
import { ja } from '../../../src/dashboard/words/ja.ts'
import { circuitName, problemSentence, summaryLines } from '../../../src/dashboard/words/sentence.ts'
import type { ProblemKind } from '../../../src/dashboard/words/words.ts'
import { PROBLEMS } from './sample.ts'

const SENTENCES: Readonly<Record<ProblemKind, readonly [english: string, japanese: string]>> = {
	'circuit-open': [
		'payments: circuit open for 40 s, 12 calls/s rejected; last error HTTP 503',
		'payments: サーキットが 40 秒前からオープン（毎秒 12 件の呼び出しを拒否）。最後のエラー: HTTP 503',
	],
	'circuit-isolated': [
		'search: circuit breaker eu-west isolated for 40 s, 12 calls/s rejected; last error HTTP 503',
		'search: サーキット breaker eu-west を 40 秒前から手動で遮断中（毎秒 12 件の呼び出しを拒否）。最後のエラー: HTTP 503',
	],
	'circuit-half-open': [
		'users: circuit half-open for 2 min, only probes pass; last error HTTP 503',
		'users: サーキットが 2 分前からハーフオープン。少数のプローブだけを通しています。最後のエラー: HTTP 503',
	],
	'calls-failing': [
		'client: 3.21 calls/s failing for 40 s; last error HTTP 500',
		'client: 40 秒前から毎秒 3.21 件の呼び出しが失敗。最後のエラー: HTTP 500',
	],
	'calls-rejected': [
		'reports: 5 calls/s rejected for 2 min (bulkhead-full)',
		'reports: 2 分前から毎秒 5 件の呼び出しを拒否（bulkhead-full）',
	],
	'destination-open': [
		'orders: destination email: circuit open for 40 s, 1,204 messages wait; next probe in 25 s',
		'orders: 宛先 email のサーキットが 40 秒前からオープン、1,204 件のメッセージが待機中。次のプローブは 25 秒後',
	],
	'destination-paused': [
		'orders: destination search-index paused by ada for 2 min (reindex), 1,204 messages wait; no end is set',
		'orders: 宛先 search-index を 2 分前から一時停止中（操作: ada、理由: reindex）、1,204 件のメッセージが待機中。終了時刻は未設定',
	],
	'destination-retry-after': [
		'orders: destination crm asked for a pause (Retry-After) for 2 min, 1 message waits; ends in 25 s',
		'orders: 宛先 crm は Retry-After により 2 分前から停止中、1 件のメッセージが待機中。25 秒後に再開',
	],
	'messages-late': [
		'orders: messages to invoices are 5 min late, 10,000+ messages due',
		'orders: 宛先 invoices への送信が 5 分遅延、送信可能なメッセージは 10,000 件以上',
	],
	'no-relay': [
		'billing: no running relay serves 48 due messages, for 40 s',
		'billing: 40 秒前から宛先を担当するリレーが動いていません。48 件のメッセージが待機中',
	],
	'relay-ended': [
		'orders: relay worker-2:991 ended without a shutdown 2 min ago',
		'orders: リレー worker-2:991 が 2 分前に異常終了',
	],
	'dead-letters': ['orders: 37 dead letters to email', 'orders: 宛先 email のデッドレターが 37 件'],
	'endpoints-disabled': [
		'webhooks: 1 endpoint disabled after failures',
		'webhooks: 失敗が続いたため無効になったエンドポイントが 1 件',
	],
	'endpoints-failing': [
		'webhooks: 3 endpoints failing for 2 min',
		'webhooks: 2 分前から失敗が続いているエンドポイントが 3 件',
	],
	'clock-behind': [
		'orders: the clock of the database was set back by 3 s',
		'orders: データベースの時計が 3 秒巻き戻されました',
	],
	unreadable: [
		'archive: the state cannot be read: connect ECONNREFUSED 10.0.0.7:5432',
		'archive: 状態を取得できません: connect ECONNREFUSED 10.0.0.7:5432',
	],
}

const problems = { ...PROBLEMS, 'calls-failing': { ...PROBLEMS['calls-failing'], lastError: 'HTTP 500' } }

describe('a sentence says what is wrong, since when, and what it does to callers', () => {
	test.each(Object.values(problems))('$kind', (problem) => {
		expect([problemSentence(en, problem), problemSentence(ja, problem)]).toEqual(SENTENCES[problem.kind])
	})
})

describe('what is unknown is left out', () => {
	test.each([
		[
			{ ...PROBLEMS['circuit-open'], sinceMs: null, rejectedPerSecond: 0, lastError: null },
			'payments: circuit open',
			'payments: サーキットがオープン',
		],
		[
			{ ...PROBLEMS['calls-rejected'], sinceMs: null },
			'reports: 5 calls/s rejected (bulkhead-full)',
			'reports: 毎秒 5 件の呼び出しを拒否（bulkhead-full）',
		],
		[
			{ ...PROBLEMS['destination-paused'], by: null, reason: null, sinceMs: null, endsInMs: 60_000 },
			'orders: destination search-index paused, 1,204 messages wait; ends in 60 s',
			'orders: 宛先 search-index を一時停止中、1,204 件のメッセージが待機中。60 秒後に再開',
		],
		[
			{ ...PROBLEMS['relay-ended'], sinceMs: null },
			'orders: relay worker-2:991 ended without a shutdown',
			'orders: リレー worker-2:991 が異常終了',
		],
	] as const)('%#: %s', (problem, english, japanese) => {
		expect([problemSentence(en, problem), problemSentence(ja, problem)]).toEqual([english, japanese])
	})
})

test('what has just begun has whole seconds', () => {
	const problem = { ...PROBLEMS['destination-open'], sinceMs: 0, endsInMs: 0, destination: 'crm' }
	expect([problemSentence(en, problem), problemSentence(ja, problem)]).toEqual([
		'orders: destination crm: circuit open for 0 s, 1,204 messages wait; next probe in 0 s',
		'orders: 宛先 crm のサーキットが 0 秒前からオープン、1,204 件のメッセージが待機中。次のプローブは 0 秒後',
	])
})

test('a breaker without a name of its own is not named', () => {
	const { name } = circuitBreaker()
	const problem = { ...PROBLEMS['circuit-open'], circuit: name }
	expect(problemSentence(en, problem)).toContain('payments: circuit open for 40 s')
	expect(circuitName({ source: 'payments', circuit: name, key: 'eu-west' })).toBe('eu-west')
})

test('without a problem one line says that nothing is wrong', () => {
	expect(summaryLines(en, [])).toEqual([en.nothingWrong])
	expect(summaryLines(ja, Object.values(PROBLEMS))).toHaveLength(Object.keys(SENTENCES).length)
})

test('durations, times and counts are in the language of the reader', () => {
	const shown = [en, ja].map((words) => [
		words.measured(1_316),
		words.exactDuration(200_000),
		words.exactDuration(300),
		words.inTime(5_000),
		words.ago(86_400_000 * 3),
		words.ago(10),
		words.count({ count: 10_000, isCapped: true }),
		words.messages({ count: 1, isCapped: false }),
		words.problemCount(1, 2),
		words.problemCount(0, 1),
	])
	expect(shown).toEqual([
		[
			'1.32 s',
			'3 min 20 s',
			'0 s',
			'in 5 s',
			'3 d ago',
			'just now',
			'10,000+',
			'1 message',
			'1 error, 2 warnings',
			'1 warning',
		],
		[
			'1.32 秒',
			'3 分 20 秒',
			'0 秒',
			'5 秒後',
			'3 日前',
			'たった今',
			'10,000+',
			'メッセージ 1 件',
			'エラー 1 件、警告 2 件',
			'警告 1 件',
		],
	])
})
