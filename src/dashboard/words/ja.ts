import { formatDuration, formatNumber, formatSignificant } from '../../text/format.ts'
import type { Count } from '../contract.ts'
import { formatSeconds } from './format-seconds.ts'
import { circuitName } from './sentence.ts'
import type { Words } from './words.ts'

const UNITS: Readonly<Record<string, string>> = { d: '日', h: '時間', min: '分', s: '秒', ms: 'ミリ秒' }
const translated = (text: string): string =>
	text.replaceAll(/\b(d|h|min|s|ms)\b/g, (unit) => UNITS[unit] ?? unit)

const duration = (ms: number): string => translated(formatDuration(ms))
/** For sentences, which need no milliseconds. */
const span = (ms: number): string => (ms < 1_000 ? translated(formatSeconds(ms)) : duration(ms))
const count = ({ count, isCapped }: Count): string => `${formatNumber(count)}${isCapped ? '+' : ''}`
const items = ({ count, isCapped }: Count): string => `${formatNumber(count)} 件${isCapped ? '以上' : ''}`
const calls = (rate: number): string => `毎秒 ${formatSignificant(rate)} 件`
/** Starts with a space, as before every number in a text. */
const since = (ms: number | null): string => (ms === null ? '' : ` ${span(ms)}前から`)
const rejected = (rate: number): string => (rate > 0 ? `（${calls(rate)}の呼び出しを拒否）` : '')
const lastError = (error: string | null): string => (error === null ? '' : `。最後のエラー: ${error}`)
const waiting = (due: Count): string => `${items(due)}のメッセージが待機中`
const circuit = (problem: Parameters<typeof circuitName>[0]): string => {
	const name = circuitName(problem)
	return name === '' ? 'サーキット' : `サーキット ${name} `
}

/** Japanese. */
export const ja: Words = {
	language: 'ja',
	duration,
	exactDuration: (ms) => translated(formatSeconds(ms)),
	measured: (ms) => translated(formatDuration(ms, 2)),
	count,
	messages: (value) => `メッセージ ${items(value)}`,
	callsPerSecond: calls,
	inTime: (ms) => `${duration(ms)}後`,
	ago: (ms) => (ms < 1_000 ? 'たった今' : `${duration(ms)}前`),
	problems: {
		'circuit-open': (p) =>
			`${circuit(p)}が${since(p.sinceMs)}オープン${rejected(p.rejectedPerSecond)}${lastError(p.lastError)}`,
		'circuit-isolated': (p) =>
			`${circuit(p)}を${since(p.sinceMs)}手動で遮断中${rejected(p.rejectedPerSecond)}${lastError(p.lastError)}`,
		'circuit-half-open': (p) =>
			`${circuit(p)}が${since(p.sinceMs)}ハーフオープン。少数のプローブだけを通しています${rejected(p.rejectedPerSecond)}${lastError(p.lastError)}`,
		'calls-failing': (p) =>
			`${since(p.sinceMs)}${calls(p.failuresPerSecond)}の呼び出しが失敗${lastError(p.lastError)}`.trimStart(),
		'calls-rejected': (p) =>
			`${since(p.sinceMs)}${calls(p.rejectedPerSecond)}の呼び出しを拒否（${p.reason}）`.trimStart(),
		'destination-open': (p) =>
			`宛先 ${p.destination} のサーキットが${since(p.sinceMs)}オープン、${waiting(p.due)}${p.endsInMs === null ? '' : `。次のプローブは ${span(p.endsInMs)}後`}`,
		'destination-paused': (p) =>
			`宛先 ${p.destination} を${since(p.sinceMs)}一時停止中${operator(p.by, p.reason)}、${waiting(p.due)}。${p.endsInMs === null ? '終了時刻は未設定' : `${span(p.endsInMs)}後に再開`}`,
		'destination-retry-after': (p) =>
			`宛先 ${p.destination} は Retry-After により${since(p.sinceMs)}停止中、${waiting(p.due)}${p.endsInMs === null ? '' : `。${span(p.endsInMs)}後に再開`}`,
		'messages-late': (p) =>
			`宛先 ${p.destination} への送信が ${duration(p.lagMs)}遅延、送信可能なメッセージは ${items(p.due)}`,
		'no-relay': (p) =>
			`${since(p.sinceMs)}宛先を担当するリレーが動いていません。${waiting(p.due)}`.trimStart(),
		'relay-ended': (p) =>
			`リレー ${p.relay} が${p.sinceMs === null ? '' : ` ${duration(p.sinceMs)}前に`}異常終了`,
		'dead-letters': (p) => `宛先 ${p.destination} のデッドレターが ${items(p.dead)}`,
		'endpoints-disabled': (p) => `失敗が続いたため無効になったエンドポイントが ${p.endpoints} 件`,
		'endpoints-failing': (p) =>
			`${since(p.sinceMs)}失敗が続いているエンドポイントが ${p.endpoints} 件`.trimStart(),
		'clock-behind': (p) => `データベースの時計が ${duration(p.behindMs)}巻き戻されました`,
		unreadable: (p) => `${since(p.sinceMs)}状態を取得できません: ${p.error}`.trimStart(),
	},
	advice: {
		'circuit-open': '依存先を復旧してください。プローブが成功すると、サーキットは自動で閉じます。',
		'circuit-isolated': '依存先を呼び出してよい状態になったら、遮断を解除してください。',
		'circuit-half-open': 'そのままお待ちください。プローブが成功すると、サーキットは閉じます。',
		'calls-failing': '失敗した呼び出しの説明を確認してください。',
		'calls-rejected': '上限と負荷が見合っているか確認してください。',
		'destination-open': '受信側を復旧してください。メッセージは失われず、プローブが成功すると送信されます。',
		'destination-paused': '受信側が受け取れる状態になったら、再開してください。',
		'destination-retry-after': 'そのままお待ちください。受信側からの要求です。メッセージは失われません。',
		'messages-late': 'リレーを増やすか、宛先の同時送信数を上げてください。',
		'no-relay': 'その宛先を担当するリレーを起動してください。それまでメッセージは失われません。',
		'relay-ended':
			'プロセスが終了した原因を確認してください。送信中だったメッセージは、リース終了後に他のリレーが送信します。',
		'dead-letters': '原因を取り除いてから、まずカナリアで再投入してください。',
		'endpoints-disabled': '顧客に確認してから有効に戻し、届かなかったメッセージを再送してください。',
		'endpoints-failing': '顧客に確認してください。失敗が続くと、エンドポイントは無効になります。',
		'clock-behind': 'データベースサーバーの時計を同期してください。',
		unreadable: 'データベースが応答しているか確認してください。',
	},
	nothingWrong: '問題はありません。サーキットは閉じており、メッセージは配送されています。',
	problemCount: (errors, warnings) =>
		[errors > 0 ? `エラー ${errors} 件` : '', warnings > 0 ? `警告 ${warnings} 件` : '']
			.filter((part) => part !== '')
			.join('、'),
	severities: { error: 'エラー', warning: '警告' },
	circuitStates: {
		closed: 'クローズド',
		open: 'オープン',
		'half-open': 'ハーフオープン',
		isolated: '手動遮断',
	},
	shadow: 'シャドーモード',
	limits: {
		bulkhead: 'バルクヘッド',
		'rate-limiter': 'レートリミッター',
		budget: 'リトライバジェット',
		throttle: '適応型スロットル',
	},
	pauses: { operator: '一時停止', 'retry-after': 'Retry-After', circuit: 'サーキットがオープン' },
	statuses: {
		pending: '送信待ち',
		'in-flight': '送信中',
		dead: 'デッドレター',
		sent: '送信済み',
		discarded: '破棄済み',
	},
	jobStates: {
		canary: 'カナリアを送信中',
		running: '実行中',
		done: '完了',
		cancelled: 'キャンセル済み',
		failed: '失敗',
	},
	processLine: (host, pid) => `${host} のプロセス ${pid}`,
}

function operator(by: string | null, reason: string | null): string {
	const parts = [by === null ? '' : `操作: ${by}`, reason === null ? '' : `理由: ${reason}`]
	const shown = parts.filter((part) => part !== '')
	return shown.length === 0 ? '' : `（${shown.join('、')}）`
}
