/** Whether the figures are current. Apart from the code that connects, because texts are checked without a document. */
export type Connection = 'connecting' | 'live' | 'polling' | 'reconnecting' | 'hidden' | 'denied'
