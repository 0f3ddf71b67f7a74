"""Words of development that stand for each other, English and Korean: for queries (`gitmem.search`).

A line of `_SAME` are words for one thing. A line of `_KINDS` begins with the words for a kind of thing and goes on,
after `>`, with names of its members: who asks for the kind is given the members, and not the other way round.

Tested through `tests/search/query/test_query.py`.
"""

from __future__ import annotations

from functools import cache

from gitmem.text.stems import hangul_stem, stem

_SAME = """
lint linter 린트 린터
format formatter 포맷 포매터
test 테스트 시험
repository repo 저장소 레포
directory folder 디렉터리 디렉토리 폴더
file 파일
path 경로
database db 데이터베이스 디비
deploy deployment release 배포 릴리스
commit 커밋
branch 브랜치
merge 병합 머지
review reviewer 리뷰 검토
error exception failure 오류 에러 예외
bug defect 버그
function method 함수 메서드
config configuration settings 설정
dependency package library 의존성 패키지 라이브러리
install 설치
delete remove drop 삭제 제거
add create 추가 생성
replace switch migrate swap 교체 전환
auth authentication login signin 인증 로그인
permission authorization role 권한
environment env 환경
documentation docs 문서
cache caching 캐시 캐싱
log logging logger 로그 로깅
api endpoint route 엔드포인트
frontend client 프런트엔드 프론트엔드
backend server 백엔드 서버
user 사용자 유저
password secret credential 비밀번호 암호
token 토큰
query 쿼리 질의
migration 마이그레이션
container 컨테이너
type typing 타입
build compile 빌드 컴파일
queue broker 큐
performance latency slow speed 성능 속도
version 버전
hook 훅
session 세션
checkpoint 체크포인트
agent 에이전트
subagent 서브에이전트
github 깃허브
code 코드
owner codeowners 오너 소유자
script 스크립트
prompt 프롬프트
plugin 플러그인
module 모듈
class 클래스
variable 변수
string 문자열
thread 스레드
process 프로세스
lock 잠금
timeout 타임아웃
retry 재시도
component 컴포넌트
style 스타일
button 버튼
page 페이지
request 요청
response 응답
header 헤더
parser parsing 파서 파싱
framework 프레임워크
team 팀
duplicate 중복
extract 추출
skip 건너뛰기 생략
default 기본
name naming 이름
store storage save 저장
image 이미지
schedule cron 스케줄
payment checkout billing 결제
email mail 이메일 메일
search 검색
memory 메모리
screen 화면
"""
_KINDS = """
lint linter > ruff eslint flake8 pylint biome golangci-lint clippy shellcheck
format formatter > prettier black gofmt rustfmt
test testing > pytest jest vitest junit mocha playwright
package dependency > npm pnpm yarn bun pip uv poetry cargo
database db > postgres postgresql mysql sqlite mongodb
cache queue > redis memcached
queue broker > rabbitmq kafka celery sqs
orm > sqlalchemy prisma drizzle typeorm hibernate
migration > alembic flyway
auth authentication login > jwt oauth session cookie
framework > fastapi django flask react vue svelte rails spring express
container > docker podman kubernetes
ci pipeline > jenkins circleci actions
cloud hosting provider > aws gcp azure heroku vercel
monitoring alerting > datadog prometheus grafana sentry pagerduty
editor ide > vscode vim neovim emacs jetbrains
typing > mypy pyright typescript
build bundler > webpack vite esbuild rollup
validation schema > zod pydantic
payment > stripe paypal
email mail > sendgrid smtp
"""


@cache
def _kindred() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in filter(None, _SAME.split("\n")):
        words = line.split()
        for word in words:
            found.setdefault(_key(word), {}).update(dict.fromkeys(other for other in words if other != word))
    for line in filter(None, _KINDS.split("\n")):
        kind, _, members = line.partition(" > ")
        for word in kind.split():
            found.setdefault(_key(word), {}).update(dict.fromkeys(members.split()))
    return {key: tuple(words) for key, words in found.items()}


def kindred(word: str) -> tuple[str, ...]:
    """Return the words that may stand for a word, in lower case; most words have none."""
    return _kindred().get(_key(word), ())


def _key(word: str) -> str:
    if word.isascii():
        return stem(word) if word.isalpha() else word
    return hangul_stem(word)
